// SPDX-License-Identifier: Apache-2.0
//
// MiCRO and ExDyna hold the density and ExDyna balances: on drifting random gradients, on tails of
// different steepness, and on the gradients of a model that trains with what they send.
#include <gtest/gtest.h>

#include <cmath>

#include "host/collectives/sparsifier/training.h"
#include "host/collectives/sparsifier/word_model.h"

namespace tandem::collectives::test {
namespace {

TEST(DensityControl, HoldsTheTargetWithinOnePercentAfterTwoHundredSteps) {
  for (const std::string name : {"micro", "exdyna"}) {
    Training training = training_of(name, 0.01);
    training.num_values = 20'000;
    training.steps = 320;
    training.keep_residuals = false;
    training.gradient = drifting_gradients(training.num_values);
    const auto ranks = train(training);
    EXPECT_NEAR(mean_density(ranks[0].steps, 200), 0.01, 0.0001) << name;
  }
}

TEST(DensityControl, ExdynaBalancesPartitionsWhereGradientsAreSkewed) {
  for (const bool balances : {false, true}) {
    Training training = training_of(balances ? "exdyna" : "micro", 0.01);
    training.num_values = 64'000;
    training.world = 8;
    training.keep_residuals = false;
    training.steps = 330;
    const GradientOf even = drifting_gradients(training.num_values);
    training.gradient = [&](int rank, std::uint64_t step) {
      Gradient gradient = even(rank, step);
      for (std::size_t i = training.num_values / 8; i < gradient.size(); ++i) gradient[i] /= 8;
      return gradient;
    };
    const auto ranks = train(training);
    double inefficiency = 0;
    for (std::size_t step = 290; step < 330; ++step) {
      inefficiency += ranks[0].steps[step].inefficiency / 40;
    }
    if (balances) {
      EXPECT_LT(inefficiency, 1.1);
    } else {
      EXPECT_GT(inefficiency, 3);
    }
  }
}

// Layers whose scales differ by e^skew: one gain for all of these tails is too slow or oscillates.
GradientOf layered_gradients(std::uint64_t num_values, double skew) {
  const GradientOf even = drifting_gradients(num_values);
  return [=](int rank, std::uint64_t step) {
    Gradient gradient = even(rank, 2 * (step % 30));  // its scale does not change
    for (std::uint64_t i = 0; i < num_values; ++i) {
      const auto layer = static_cast<double>(64 * i / num_values);
      const double drift = 0.2 * std::sin(static_cast<double>(step) / 40 + layer);
      gradient[i] *= static_cast<float>(std::exp(skew * std::sin(7 * layer) + drift));
    }
    return gradient;
  };
}

TEST(DensityControl, HoldsTheTargetOnSteepAndOnFlatTails) {
  for (const double skew : {0.0, 1.5, 3.0}) {
    Training training = training_of("micro", 0.01);
    training.num_values = 40'000;
    training.steps = 280;
    training.keep_residuals = false;
    training.gradient = layered_gradients(training.num_values, skew);
    const auto ranks = train(training);
    EXPECT_NEAR(mean_density(ranks[0].steps, 200), 0.01, 0.0001) << "skew " << skew;
  }
}

TEST(DensityControl, BeginsWithTheFirstGradientThatIsNotZero) {
  for (const std::string name : {"micro", "exdyna"}) {
    Training training = training_of(name, 0.01);
    training.num_values = 20'000;
    training.steps = 4;
    const GradientOf later = drifting_gradients(training.num_values);
    training.gradient = [&](int rank, std::uint64_t step) {
      return step < 2 ? Gradient(training.num_values) : later(rank, step);
    };
    const auto ranks = train(training);
    EXPECT_LE(ranks[0].steps[1].mean.num_entries, 4u) << name;  // one a rank
    EXPECT_NEAR(static_cast<double>(ranks[0].steps[2].mean.num_entries), 200, 100) << name;
  }
}

// As Adam's first steps: what is kept back doubles in the second step.
TEST(DensityControl, StaysNearTheTargetFromTheFirstStepOnNearlyEqualGradients) {
  for (const std::string name : {"micro", "exdyna"}) {
    Training training = training_of(name, 0.01);
    training.num_values = 20'000;
    training.steps = 20;
    training.keep_residuals = false;
    training.gradient = [&](int rank, std::uint64_t step) {
      Gradient gradient(training.num_values);
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        const auto phase = static_cast<double>(i * (7 + step) + static_cast<std::size_t>(rank));
        gradient[i] = static_cast<float>((i % 2 == 0 ? 1 : -1) * (1 + 0.3 * std::sin(phase)));
      }
      return gradient;
    };
    const auto ranks = train(training);
    for (const StepResult& step : ranks[0].steps) {
      EXPECT_LT(step.mean.num_entries, 600u) << name;
      EXPECT_GT(step.mean.num_entries, 66u) << name;
    }
  }
}

struct ControlOutcome {
  double density, inefficiency, loss_before, loss_after;
  bool exclusive = true;
};

ControlOutcome train_word_model(const std::string& name, double density) {
  Training training = training_of(name, density);
  training.num_values = WordModel::kParameters;
  training.world = 8;
  training.steps = 300;
  training.keep_residuals = false;
  std::vector<WordModel> models(8);  // of the ranks; they stay equal
  training.gradient = [&](int rank, std::uint64_t step) {
    return models[static_cast<std::size_t>(rank)].gradient(rank, step);
  };
  training.apply = [&](int rank, const StepResult& step) {
    models[static_cast<std::size_t>(rank)].descend(step.mean);
  };
  ControlOutcome outcome{0, 0, models[0].loss(), 0};
  const auto ranks = train(training);
  for (const RankHistory& rank : ranks) EXPECT_EQ(rank.error, "");
  outcome.loss_after = models[0].loss();
  outcome.density = mean_density(ranks[0].steps, 200);
  for (std::size_t step = 0; step < ranks[0].steps.size(); ++step) {
    outcome.exclusive = outcome.exclusive && ranks[0].steps[step].build_up == 1;
    if (step >= 200) outcome.inefficiency += ranks[0].steps[step].inefficiency / 100;
  }
  return outcome;
}

TEST(DensityControl, HoldsTheTargetOnTheGradientsOfAModelThatTrains) {
  for (const std::string name : {"micro", "exdyna"}) {
    const ControlOutcome outcome = train_word_model(name, 0.02);
    EXPECT_NEAR(outcome.density, 0.02, 0.0002) << name;
    EXPECT_TRUE(outcome.exclusive) << name;
    EXPECT_LT(outcome.loss_after, 0.9 * outcome.loss_before) << name;
    if (name == "micro") {
      EXPECT_GT(outcome.inefficiency, 3);  // frequent words are in the first partition
    } else {
      EXPECT_LE(outcome.inefficiency, 1.1);
    }
  }
}

}  // namespace
}  // namespace tandem::collectives::test
