// SPDX-License-Identifier: Apache-2.0
//
// Properties of single algorithms beyond the common ones: exclusive sets, density, momentum,
// warm-up, fits, packed chunks, local steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "collectives/sparsifier/deft_plan.h"
#include "collectives/sparsifier/sidco_fits.h"
#include "host/collectives/sparsifier/training.h"

namespace tandem::collectives::test {
namespace {

TEST(ExclusiveSparsifiers, HaveABuildUpOfExactlyOneAndTopkMore) {
  for (const std::string name : {"micro", "exdyna", "deft", "cltk", "randomk"}) {
    const auto ranks = train(training_of(name));
    for (const StepResult& step : ranks[0].steps) {
      EXPECT_EQ(step.build_up, 1) << name;
      EXPECT_EQ(step.selected_total, step.mean.num_entries) << name;
    }
  }
  const auto ranks = train(training_of("topk"));
  for (const StepResult& step : ranks[0].steps) {
    EXPECT_EQ(step.selected_total, 4 * 50u);
    EXPECT_DOUBLE_EQ(step.build_up, static_cast<double>(step.mean.num_entries) / 50);
    EXPECT_GT(step.build_up, 1.5);
  }
}

TEST(ExclusiveSparsifiers, SendWholeFragmentsWithoutIndices) {
  Training training = training_of("deft", 0.5);
  training.options.layer_sizes = {900, 100};
  training.gradient = [](int rank, std::uint64_t step) {
    Gradient gradient = training_gradient(1000, rank, step);
    for (std::size_t i = 900; i < 1000; ++i) gradient[i] = 100;  // its norm asks for more than all
    return gradient;
  };
  const auto ranks = train(training);
  for (const StepResult& step : ranks[0].steps) {
    EXPECT_EQ(step.mean.num_entries, 500u);
    EXPECT_EQ(step.selected_total, 400u);
    EXPECT_EQ(step.build_up, 1);
  }
}

TEST(Dgc, CorrectsMomentumAndMasksItWhereItSends) {
  Training training = training_of("dgc");
  training.world = 1;
  training.steps = 6;
  training.options.momentum = 0.5;
  training.options.clip_norm = 40;
  const auto ranks = train(training);
  std::vector<double> u(1000), v(1000);
  for (std::uint64_t step = 0; step < training.steps; ++step) {
    const Gradient gradient = training_gradient(1000, 0, step);
    double norm = 0;
    for (const float value : gradient) norm += static_cast<double>(value) * value;
    const double scale = std::min(1.0, 40 / std::sqrt(norm));
    EXPECT_LT(scale, 1) << "the test must clip";
    for (std::size_t i = 0; i < 1000; ++i) {
      u[i] = 0.5 * u[i] + scale * gradient[i];
      v[i] += u[i];
    }
    const auto indices = indices_of(ranks[0].steps[step].mean);
    const auto values = values_of(ranks[0].steps[step].mean);
    EXPECT_GE(indices.size(), 40u);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      EXPECT_NEAR(values[i], v[indices[i]], 1e-4);
      u[indices[i]] = v[indices[i]] = 0;
    }
    for (std::size_t i = 0; i < 1000; ++i) {
      ASSERT_NEAR(ranks[0].residuals[step][i], v[i], 1e-4);
    }
  }
}

TEST(Dgc, WarmsUpOverFourEpochs) {
  Training training = training_of("dgc", 0.001);
  training.num_values = 9000;
  training.world = 1;
  training.steps = 10;
  training.options.steps_per_epoch = 2;
  const auto ranks = train(training);
  const double expected[] = {0.25, 0.0625, 0.0156, 0.004, 0.001};
  for (std::size_t step = 0; step < 10; ++step) {
    const double sent = static_cast<double>(ranks[0].steps[step].mean.num_entries) / 9000;
    EXPECT_NEAR(sent, expected[step / 2], 0.35 * expected[step / 2]) << "step " << step;
  }
}

TEST(SidcoFits, RecoverTheThresholdOfTheirOwnDistribution) {
  constexpr std::size_t kCount = 200'000;
  for (const double tail : {0.25, 0.01, 0.001}) {
    Moments exponential, pareto;
    for (std::size_t i = 0; i < kCount; ++i) {
      const double p = (static_cast<double>(i) + 0.5) / kCount;
      const double x = -std::log(1 - p), y = (std::pow(1 - p, -0.1) - 1) / 0.1;
      exponential.sum += x, exponential.squares += x * x, exponential.log_sum += std::log(x);
      pareto.sum += y, pareto.squares += y * y;
    }
    exponential.count = exponential.positive = pareto.count = kCount;
    const double exact = -std::log(tail), tailed = (std::pow(tail, -0.1) - 1) / 0.1;
    EXPECT_NEAR(fitted_threshold(SidcoFit::kExponential, exponential, tail), exact, 0.001 * exact);
    EXPECT_NEAR(fitted_threshold(SidcoFit::kGamma, exponential, tail), exact, 0.03 * exact);
    EXPECT_NEAR(fitted_threshold(SidcoFit::kGeneralisedPareto, pareto, tail), tailed,
                0.01 * tailed);
  }
}

TEST(SidcoFits, UpperGammaIsTheKnownFunction) {
  for (const double x : {0.1, 1.0, 2.0, 5.0, 20.0}) {
    EXPECT_NEAR(upper_gamma(1, x), std::exp(-x), 1e-12);
    EXPECT_NEAR(upper_gamma(0.5, x), std::erfc(std::sqrt(x)), 1e-12);
    EXPECT_NEAR(upper_gamma(3, x), std::exp(-x) * (1 + x + x * x / 2), 1e-12);
    EXPECT_NEAR(inverse_upper_gamma(3, upper_gamma(3, x)), x, 1e-6 * x);
  }
}

TEST(Sidco, TrainsWithEveryFitNearTheTarget) {
  for (const SidcoFit fit :
       {SidcoFit::kExponential, SidcoFit::kGeneralisedPareto, SidcoFit::kGamma}) {
    Training training = training_of("sidco", 0.01);
    training.num_values = 20'000;
    training.world = 1;
    training.steps = 60;
    training.options.sidco_fit = fit;
    training.gradient = drifting_gradients(training.num_values);
    const auto ranks = train(training);
    ASSERT_EQ(ranks[0].error, "");
    const double sent = mean_density(ranks[0].steps, 30);
    EXPECT_GT(sent, 0.006) << static_cast<int>(fit);
    EXPECT_LT(sent, 0.015) << static_cast<int>(fit);
  }
}

// The first threshold of the bisection that k to 2 k values reach.
std::vector<std::uint32_t> bisected(const Gradient& gradient, std::size_t k) {
  double sum = 0;
  float largest = 0;
  for (const float value : gradient) {
    sum += std::fabs(value);
    largest = std::max(largest, std::fabs(value));
  }
  const double mean = sum / static_cast<double>(gradient.size());
  double low = 0, high = 1;
  for (int i = 0; i < 20; ++i) {
    const double ratio = (low + high) / 2;
    const auto threshold = static_cast<float>(mean + ratio * (largest - mean));
    std::vector<std::uint32_t> found;
    for (std::uint32_t at = 0; at < gradient.size(); ++at) {
      if (std::fabs(gradient[at]) >= threshold) found.push_back(at);
    }
    if (found.size() >= k && found.size() < 2 * k) return found;
    (found.size() < k ? high : low) = ratio;
  }
  return {};
}

TEST(Redsync, SelectsWhatTheBisectionAcceptsWhetherOrNotTheSampleHasToldIt) {
  Training training = training_of("redsync");
  training.num_values = 60'000;
  training.world = 1;
  training.steps = 1;
  bool told = false, not_told = false;
  for (const double density : {0.1, 0.01, 0.003, 0.001, 0.0003}) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      training.options = plain_options(density);
      training.gradient = [&](int rank, std::uint64_t) {
        return training_gradient(training.num_values, rank, seed);
      };
      const StepResult step = std::move(train(training)[0].steps[0]);
      const auto k = static_cast<std::size_t>(std::lround(density * 60'000));
      EXPECT_EQ(indices_of(step.mean), bisected(training.gradient(0, 0), k)) << density << seed;
      (step.values_read < 2 * training.num_values ? told : not_told) = true;
    }
  }
  EXPECT_TRUE(told);
  EXPECT_TRUE(not_told);
}

TEST(DeftPlan, GivesAllOfKWhateverTheNorms) {
  const std::vector<Fragment> fragments = fragments_of(std::vector<std::uint64_t>{5, 95, 900}, 4);
  ASSERT_EQ(fragments.size(), 6u);  // 900 is above 1000 / 4
  for (const std::vector<double>& norms : std::vector<std::vector<double>>{
           {1, 1, 1, 1, 1, 1}, {9, 0, 0, 0, 0, 0.1}, {0.2, 7, 3, 5, 0.1, 100}}) {
    const auto entries = entries_of(fragments, norms, 60);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      EXPECT_GE(entries[i], 1u);
      EXPECT_LE(entries[i], fragments[i].size());
      total += entries[i];
    }
    EXPECT_NEAR(static_cast<double>(total), 60, 5);  // where norms are 0, one each
  }
  EXPECT_EQ(entries_of(fragments, std::vector<double>(6, 0.0), 60),
            std::vector<std::uint64_t>(6, 1));
}

TEST(DeftPlan, ALayerOfExactlyOneRanksShareStaysWhole) {
  const auto fragments = fragments_of(std::vector<std::uint64_t>{250, 750}, 4);
  ASSERT_EQ(fragments.size(), 5u);
  EXPECT_EQ(fragments[0].size(), 250u);
}

TEST(DeftPlan, SpreadsTheWorkOverAllBins) {
  std::vector<std::uint64_t> layers(40, 100);
  const auto fragments = fragments_of(layers, 4);
  const auto bins = bins_of(fragments, std::vector<std::uint64_t>(40, 3), 4);
  for (int bin = 0; bin < 4; ++bin) EXPECT_EQ(std::ranges::count(bins, bin), 10);
}

TEST(ChunkTopk, SelectsTheLargestOfEveryChunkAndKeepsWhatTwoBitsLose) {
  Training training = training_of("chunk_topk", 0.01);
  training.num_values = 10'000;  // chunks of 4096, 4096 and 1808: 41, 41 and 18 entries
  training.world = 1;
  training.steps = 3;
  const auto ranks = train(training);
  std::vector<float> sum(training.num_values);
  for (std::uint64_t step = 0; step < training.steps; ++step) {
    const Gradient gradient = training_gradient(training.num_values, 0, step);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
    const auto indices = indices_of(ranks[0].steps[step].mean);
    const auto values = values_of(ranks[0].steps[step].mean);
    ASSERT_EQ(indices.size(), 100u);
    float least = 1e9f;
    std::vector<bool> sent(sum.size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      EXPECT_EQ(std::signbit(values[i]), std::signbit(sum[indices[i]]));
      if (indices[i] < 4096) least = std::min(least, std::fabs(sum[indices[i]]));
      sent[indices[i]] = true;
    }
    for (std::size_t i = 0; i < 4096; ++i) {
      if (!sent[i]) {
        EXPECT_LE(std::fabs(sum[i]), least);
      }
    }
    for (std::size_t i = 0; i < indices.size(); ++i) sum[indices[i]] -= values[i];
    EXPECT_EQ(ranks[0].residuals[step], sum);
  }
}

TEST(ChunkTopk, ExchangesOnceInSoManyLocalStepsAndDecaysBetweenThem) {
  Training training = training_of("chunk_topk", 0.01);
  training.world = 2;
  training.steps = 8;
  training.options.local_steps = 4;
  training.options.decay = 0.5;
  training.gradient = [](int, std::uint64_t) { return Gradient(1000, 1.0f); };
  const auto ranks = train(training);
  for (std::size_t step = 0; step < 8; ++step) {
    EXPECT_EQ(ranks[0].steps[step].local, step % 4 != 3);
    EXPECT_EQ(ranks[0].steps[step].mean.num_entries, step % 4 == 3 ? 10u : 0u);
  }
  EXPECT_EQ(values_of(ranks[0].steps[3].mean), std::vector<float>(10, 4.0f));
  EXPECT_EQ(ranks[0].residuals[3][999], 4.0f);
  EXPECT_EQ(ranks[0].residuals[7][999], 6.0f);  // 0.5 * 4 + 4
}

}  // namespace
}  // namespace tandem::collectives::test
