// SPDX-License-Identifier: Apache-2.0
//
// Values of 16 bits on the wire: the same bits everywhere, and every rounding error in a residual.
#include "collectives/sparsifier/narrow_exchange.h"

#include <gtest/gtest.h>

#include <cmath>

#include "host/collectives/api/groups.h"
#include "host/collectives/sparsifier/training.h"

namespace tandem::collectives::test {
namespace {

class NarrowSparsifier : public testing::TestWithParam<std::string> {
 protected:
  Training training(DType wire) const {
    Training training;
    training.name = GetParam();
    training.options = plain_options(0.05);
    training.options.reduce.wire = wire;
    training.gradient = [](int rank, std::uint64_t step) {
      Gradient gradient = training_gradient(1000, rank, step);
      for (float& value : gradient) value *= 1.0009765625f;  // 11 bits more than a value has
      return gradient;
    };
    return training;
  }
};

TEST_P(NarrowSparsifier, GivesEveryRankTheSameBitsAndLosesNoMass) {
  for (const DType wire : {DType::kF16, DType::kBF16}) {
    for (const int world : {1, 3, 4}) {
      Training run = training(wire);
      run.world = world;
      const auto ranks = train(run);
      std::vector<double> mass(run.num_values);
      for (int rank = 0; rank < world; ++rank) {
        const RankHistory& history = ranks[static_cast<std::size_t>(rank)];
        ASSERT_EQ(history.error, "");
        for (std::uint64_t step = 0; step < run.steps; ++step) {
          ASSERT_EQ(history.steps[step].mean.indices, ranks[0].steps[step].mean.indices);
          ASSERT_EQ(history.steps[step].mean.values, ranks[0].steps[step].mean.values);
          const Gradient gradient = run.gradient(rank, step);
          for (std::size_t i = 0; i < mass.size(); ++i) mass[i] += gradient[i];
          const auto indices = indices_of(history.steps[step].mean);
          const auto values = values_of(history.steps[step].mean);
          for (std::size_t i = 0; i < indices.size(); ++i) mass[indices[i]] -= values[i];
        }
        for (std::size_t i = 0; i < mass.size(); ++i) mass[i] -= history.residual[i];
      }
      for (const double missing : mass) ASSERT_NEAR(missing, 0, 2e-4) << "world " << world;
    }
  }
}

TEST_P(NarrowSparsifier, RefusesAnotherWireTypeOnAnotherRank) {
  std::vector<RankResult> outcomes = run_groups(2, [&](Group& group) {
    Training run = training(group.rank() == 0 ? DType::kF16 : DType::kBF16);
    make_sparsifier(run.name, 1000, run.options)->step(group, Gradient(1000, 1.0f));
  });
  for (const RankResult& outcome : outcomes) {
    EXPECT_NE(outcome.text.find("wire is f16 on rank 0 and bf16 on rank 1"), std::string::npos)
        << outcome.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Names, NarrowSparsifier, testing::ValuesIn(sparsifier_names()),
                         [](const auto& info) { return info.param; });

Training narrow_training(const std::string& name, DType wire, double density) {
  Training training;
  training.name = name;
  training.world = 1;
  training.options = plain_options(density);
  training.options.reduce.wire = wire;
  return training;
}

TEST(NarrowExchange, KeepsWhatRoundingTookFromARanksOwnValue) {
  for (const std::string name : {"topk", "hard_threshold", "dgc", "ok_topk"}) {
    for (const double density : {0.5, 1.0}) {
      Training training = narrow_training(name, DType::kBF16, density);
      training.num_values = 2;
      training.steps = 1;
      training.gradient = [](int, std::uint64_t) { return Gradient{8 + 0x1p-10f, 0.0f}; };
      const auto ranks = train(training);
      ASSERT_EQ(ranks[0].error, "") << name;
      EXPECT_EQ(values_of(ranks[0].steps[0].mean)[0], 8.0f) << name;
      EXPECT_EQ(ranks[0].residual[0], 0x1p-10f) << name;
    }
  }
}

// The mean of 1 and 1 + 2^-7 has a bit too many for bf16.
TEST(NarrowExchange, KeepsWhatRoundingTookFromAMeanOnTheRankThatAddedItUp) {
  std::vector<float> means(4), kept(4);
  run_groups(2, [&](Group& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    std::vector<float> values(2, rank == 0 ? 1.0f : 1.0f + 0x1p-7f);
    ReduceOptions options;
    options.wire = DType::kBF16;
    const RawVector<float> remainder = narrow_mean(group, values, options);
    for (std::size_t i = 0; i < 2; ++i) {
      means[2 * rank + i] = values[i];
      kept[2 * rank + i] = remainder[i];
    }
  });
  EXPECT_EQ(means, std::vector<float>(4, 1.0f));  // to even
  EXPECT_EQ(kept, (std::vector<float>{0x1p-7f, 0, 0, 0x1p-7f}));
}

TEST(NarrowExchange, SendsWhatF16CannotHoldInLaterSteps) {
  for (const std::string name : {"randomk", "hard_threshold"}) {
    Training training = narrow_training(name, DType::kF16, name == "randomk" ? 1 : 0.5);
    training.num_values = 1;
    training.world = 2;
    training.steps = 3;
    training.gradient = [](int, std::uint64_t step) { return Gradient{step == 0 ? 1e5f : 0.0f}; };
    const auto ranks = train(training);
    ASSERT_EQ(ranks[0].error, "");
    EXPECT_EQ(values_of(ranks[0].steps[0].mean)[0], 65504.0f);
    EXPECT_EQ(values_of(ranks[0].steps[1].mean)[0], 34496.0f);  // 1e5 - 65504
    EXPECT_EQ(ranks[0].residual[0], 0.0f);
  }
}

TEST(NarrowExchange, SendsHalfOfWhatF32Takes) {
  run_groups(4, [&](Group& group) {
    std::vector<float> values(40'000, 1.5f);
    ReduceOptions options;
    options.wire = DType::kF16;
    narrow_mean(group, values, options);
    EXPECT_EQ(values[39'999], 1.5f);
    const std::uint64_t bytes = last_report(group).bytes_sent;  // of the second of two steps
    EXPECT_GT(bytes, 3 * 20'000u);
    EXPECT_LT(bytes, 3 * 20'000u + 2000);
  });
}

TEST(NarrowExchange, RefusesOtherTypesAndSchemesThatWouldRoundSums) {
  SparsifierOptions options = plain_options(0.1);
  options.reduce.wire = DType::kF64;
  EXPECT_THROW(make_sparsifier("micro", 100, options), Error);
  options.reduce.wire = DType::kF16;
  options.reduce.scheme = "balanced_parallelism";
  EXPECT_NO_THROW(make_sparsifier("micro", 100, options));
  EXPECT_THROW(make_sparsifier("dgc", 100, options), Error);
  options.reduce.wire = DType::kF32;
  EXPECT_NO_THROW(make_sparsifier("dgc", 100, options));
}

}  // namespace
}  // namespace tandem::collectives::test
