// SPDX-License-Identifier: Apache-2.0
//
// Gradients and options that are wrong or empty, for every sparsifier.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "host/collectives/api/groups.h"
#include "host/collectives/sparsifier/training.h"

namespace tandem::collectives::test {
namespace {

using testing::HasSubstr;

class BadInputOf : public testing::TestWithParam<std::string> {
 protected:
  Training training(double density = 0.05) const {
    Training training;
    training.name = GetParam();
    training.options = plain_options(density);
    training.steps = 4;
    return training;
  }
};

// The gradient of rank 1 in step 2 has `value` at place 17.
GradientOf with_one_value(std::uint64_t num_values, float value) {
  return [num_values, value](int rank, std::uint64_t step) {
    Gradient gradient = training_gradient(num_values, rank, step);
    if (rank == 1 && step == 2) gradient[17] = value;
    return gradient;
  };
}

TEST_P(BadInputOf, ANaNIsNamedOnEveryRankAndChangesNothing) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    Training run = training();
    run.gradient = with_one_value(run.num_values, value);
    for (const RankHistory& rank : train(run)) {
      EXPECT_THAT(rank.error, HasSubstr("step 2: value 17 of the gradient of rank 1"));
      ASSERT_EQ(rank.steps.size(), 2u);
      EXPECT_EQ(rank.residual, rank.residuals[1]);
    }
  }
}

TEST_P(BadInputOf, AStepWithANaNIsSkippedOnEveryRankIfAskedFor) {
  Training run = training();
  run.options.non_finite = NonFinite::kSkip;
  run.gradient = with_one_value(run.num_values, std::numeric_limits<float>::quiet_NaN());
  for (const RankHistory& rank : train(run)) {
    EXPECT_EQ(rank.error, "");
    ASSERT_EQ(rank.steps.size(), 4u);
    EXPECT_TRUE(rank.steps[2].skipped);
    EXPECT_EQ(rank.steps[2].mean.num_entries, 0u);
    EXPECT_EQ(rank.residuals[2], rank.residuals[1]);
    EXPECT_FALSE(rank.steps[3].skipped);
  }
}

TEST_P(BadInputOf, ValuesThatAreNotFiniteAreClippedIfAskedFor) {
  Training run = training();
  run.options.non_finite = NonFinite::kClip;
  run.gradient = with_one_value(run.num_values, -std::numeric_limits<float>::infinity());
  Training finite = run;
  float largest = 0;
  for (float each : training_gradient(run.num_values, 1, 2)) {
    largest = std::max(largest, std::fabs(each));
  }
  finite.gradient = with_one_value(run.num_values, -largest);
  const auto clipped = train(run), expected = train(finite);
  for (std::size_t rank = 0; rank < clipped.size(); ++rank) {
    EXPECT_EQ(clipped[rank].error, "");
    EXPECT_EQ(clipped[rank].residual, expected[rank].residual);
  }
}

TEST_P(BadInputOf, ZeroGradientsAreReducedToZero) {
  Training run = training();
  run.gradient = [](int, std::uint64_t) { return Gradient(1000, 0.0f); };
  for (const RankHistory& rank : train(run)) {
    ASSERT_EQ(rank.error, "");
    for (const StepResult& step : rank.steps) {
      for (const float value : values_of(step.mean)) EXPECT_EQ(value, 0);
    }
    for (const float value : rank.residual) EXPECT_EQ(value, 0);
  }
}

TEST_P(BadInputOf, FewValuesForManyRanksAreSentSoonerOrLater) {
  for (const std::uint64_t num_values : {1, 2, 3, 5}) {
    Training run = training(0.5);
    run.num_values = num_values;
    run.steps = 40;
    run.gradient = [&](int, std::uint64_t) { return Gradient(num_values, 0.5f); };
    const auto ranks = train(run);
    std::vector<double> sent(num_values);
    for (const StepResult& step : ranks[0].steps) {
      const auto indices = indices_of(step.mean);
      for (const std::uint32_t index : indices) sent[index] += 1;
    }
    for (const RankHistory& rank : ranks) EXPECT_EQ(rank.error, "");
    for (const double times : sent) EXPECT_GT(times, 0) << num_values << " values";
  }
}

TEST_P(BadInputOf, DensityZeroKeepsEverything) {
  Training run = training(0);
  const auto ranks = train(run);
  for (int rank = 0; rank < run.world; ++rank) {
    const RankHistory& history = ranks[static_cast<std::size_t>(rank)];
    ASSERT_EQ(history.error, "");
    std::vector<float> sum(run.num_values, 0.0f);
    for (std::uint64_t step = 0; step < run.steps; ++step) {
      const Gradient gradient = training_gradient(run.num_values, rank, step);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
      EXPECT_EQ(history.steps[step].mean.num_entries, 0u);
    }
    EXPECT_EQ(history.residual, sum);
  }
}

TEST_P(BadInputOf, DensityOneIsTheDenseMean) {
  Training run = training(1);
  const auto ranks = train(run);
  for (std::uint64_t step = 0; step < run.steps; ++step) {
    std::vector<float> mean(run.num_values, 0.0f);
    for (int rank = 0; rank < run.world; ++rank) {
      const Gradient gradient = training_gradient(run.num_values, rank, step);
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += gradient[i] / 4;
    }
    for (const RankHistory& rank : ranks) {
      ASSERT_EQ(rank.error, "");
      EXPECT_EQ(values_of(rank.steps[step].mean), mean);
    }
  }
  for (const RankHistory& rank : ranks) {
    EXPECT_EQ(rank.residual, std::vector<float>(run.num_values, 0.0f));
  }
}

TEST_P(BadInputOf, RanksWithOtherOptionsAreNamed) {
  const auto outcomes = run_groups(3, [&](Group& group) {
    const double density = group.rank() == 2 ? 0.02 : 0.01;
    const auto sparsifier = make_sparsifier(GetParam(), 1000, plain_options(density));
    sparsifier->step(group, training_gradient(1000, group.rank(), 0));
  });
  for (const RankResult& rank : outcomes) {
    EXPECT_EQ(rank.outcome, Outcome::kError);
    EXPECT_THAT(rank.text, HasSubstr("density is 0.01"));
    EXPECT_THAT(rank.text, HasSubstr("on rank 2"));
  }
}

INSTANTIATE_TEST_SUITE_P(Names, BadInputOf, testing::ValuesIn(sparsifier_names()),
                         [](const auto& info) { return info.param; });

TEST(BadInput, AGradientOfAnotherSizeIsNamedOnEveryRankAndTheGroupStaysUsable) {
  const auto outcomes = run_groups(3, [&](Group& group) {
    const auto sparsifier = make_sparsifier("topk", 1000, plain_options(0.01));
    const std::uint64_t size = group.rank() == 1 ? 999 : 1000;
    EXPECT_THAT(
        outcome_of([&] { sparsifier->step(group, training_gradient(size, group.rank(), 0)); }).text,
        HasSubstr("rank 1: the gradient has 999 values"));
    EXPECT_EQ(sparsifier->step(group, training_gradient(1000, group.rank(), 0)).mean.num_units,
              1000u);
  });
  for (const RankResult& rank : outcomes) EXPECT_EQ(rank.outcome, Outcome::kDone) << rank.text;
}

TEST(BadInput, RanksWithOtherSparsifiersAreNamed) {
  const auto outcomes = run_groups(2, [&](Group& group) {
    const auto sparsifier =
        make_sparsifier(sparsifier_names()[group.rank() == 0 ? 0 : 1], 10, plain_options(0.5));
    sparsifier->step(group, Gradient(10, 1.0f));
  });
  for (const RankResult& rank : outcomes) {
    EXPECT_THAT(rank.text, HasSubstr("the sparsifier is " + sparsifier_names()[0] +
                                     " on rank 0 and " + sparsifier_names()[1] + " on rank 1"));
  }
}

TEST(BadInput, OptionsOutOfRangeAreRefusedByName) {
  const auto text_of = [](std::uint64_t num_values, const SparsifierOptions& options,
                          std::string_view name = "topk") {
    return outcome_of([&] { make_sparsifier(name, num_values, options); }).text;
  };
  SparsifierOptions options;
  EXPECT_THAT(text_of(0, options), HasSubstr("1 to 2^32 - 1"));
  EXPECT_THAT(text_of(std::uint64_t{1} << 32, options), HasSubstr("1 to 2^32 - 1"));
  EXPECT_THAT(text_of(10, options, "topp"), HasSubstr("there are: topk"));
  options.density = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(text_of(10, options), HasSubstr("density"));
  options.density = 1.5;
  EXPECT_THAT(text_of(10, options), HasSubstr("density"));
  options = {};
  options.layer_sizes = {4, 7};
  EXPECT_THAT(text_of(10, options), HasSubstr("layer_sizes add up to 11"));
  options = {};
  options.reduce.wire = DType::kF64;
  EXPECT_THAT(text_of(10, options), HasSubstr("f32, f16 or bf16, not f64"));
  options = {};
  options.local_steps = 0;
  EXPECT_THAT(text_of(10, options), HasSubstr("local_steps"));
}

}  // namespace
}  // namespace tandem::collectives::test
