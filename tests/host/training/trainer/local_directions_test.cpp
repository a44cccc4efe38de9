// SPDX-License-Identifier: Apache-2.0
//
// Directions of a rank's own optimiser beside formulas in f64.
#include "training/trainer/local_directions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/error.h"

namespace tandem::training {
namespace {

// Keeps which parameters it was told of.
struct ToldParameters final : GradientListener {
  void ready(std::size_t parameter) override { told.push_back(parameter); }
  std::vector<std::size_t> told;
};

std::vector<ParameterSpec> direction_specs() { return {{"w", {9, 5}, 0.5f, 0}, {"b", {3}, 0, 1}}; }

float gradient_at(std::size_t i, int step) {
  return static_cast<float>(std::sin(0.7 * static_cast<double>(i) + 1.3 * step));
}

class LocalDirectionsTest : public testing::Test {
 protected:
  LocalDirectionsTest() { parameters_.draw(3); }

  // Of a step: both gradients are set, turned and told of.
  void step(LocalDirections& directions, int iteration, double share = 1) {
    for (const std::size_t parameter : {std::size_t{0}, std::size_t{1}}) {
      const auto gradient = parameters_.gradient(parameter);
      for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = gradient_at(i, iteration);
    }
    directions.begin(static_cast<std::uint64_t>(iteration), share);
    directions.ready(1);
    directions.ready(0);
    directions.finish();
  }

  static DirectionOptions of(const UpdateRule& rule, int ranks = 1, double clip = 0) {
    return {{true, false}, rule, ranks, clip, 1};
  }

  ParameterSet parameters_{direction_specs()};
  ToldParameters next_;
};

TEST_F(LocalDirectionsTest, AdamsSecondMomentIsThatOfTheMeanOverRanks) {
  LocalDirections directions(parameters_, of(Adam{.beta1 = 0.9, .beta2 = 0.95}, 4), next_);
  std::vector<double> first(45), second(45);
  for (int t = 1; t <= 5; ++t) {
    step(directions, t);
    for (std::size_t i = 0; i < 45; ++i) {
      const double g = gradient_at(i, t);
      first[i] = 0.9 * first[i] + 0.1 * g;
      second[i] = 0.95 * second[i] + 0.05 * g * g;
      const double m = first[i] / (1 - std::pow(0.9, t)), v = second[i] / (1 - std::pow(0.95, t));
      ASSERT_NEAR(parameters_.gradient(0)[i], m / (std::sqrt(v / 4 + 0.75 * m * m) + 1e-8), 1e-5);
    }
    EXPECT_EQ(parameters_.gradient(1)[2], gradient_at(2, t)) << "not chosen";
  }
  EXPECT_THAT(next_.told, testing::ElementsAre(1, 0, 1, 0, 1, 0, 1, 0, 1, 0));
}

// So what is not kept back trains as AdamW does.
TEST_F(LocalDirectionsTest, OfOneRankAllDirectionsAreTheStepsOfTheRule) {
  for (const UpdateRule& rule : {UpdateRule(Adam{.weight_decay = 0.1}),
                                 UpdateRule(Sgd{.momentum = 0.9, .nesterov = true})}) {
    ThreadPool pool(1);
    Optimizer turned(pool), whole(pool);
    const auto add = [](Optimizer& optimizer, const UpdateRule& one) {
      return optimizer.add({.name = "w", .count = 45, .width = 5, .rule = one});
    };
    const auto mine = add(turned, rule_of_directions(rule, 0.02)), theirs = add(whole, rule);
    std::vector<float> weights(45, 0.5f), expected = weights, gradient(45);
    LocalDirections directions(parameters_, of(rule), next_);
    for (int t = 1; t <= 4; ++t) {
      const double rate = 0.005 * t;
      const StepFactors factors{static_cast<std::uint64_t>(t), rate, 1};
      for (std::size_t i = 0; i < 45; ++i) gradient[i] = gradient_at(i, t);
      whole.update(factors,
                   {.parameter = theirs, .weights = expected, .gradient = gradient, .copy = {}});
      step(directions, t, rate / 0.02);
      turned.update(
          factors,
          {.parameter = mine, .weights = weights, .gradient = parameters_.gradient(0), .copy = {}});
      for (std::size_t i = 0; i < 45; ++i) ASSERT_NEAR(weights[i], expected[i], 1e-6);
    }
  }
}

// A direction that is kept back changes the weights as it would have in its own step.
TEST_F(LocalDirectionsTest, WhatIsSentLateHasTheRateOfItsStep) {
  const UpdateRule rule = Adam{.weight_decay = 0};
  ThreadPool pool(1);
  Optimizer turned(pool), whole(pool);
  const auto mine =
      turned.add({.name = "w", .count = 45, .width = 5, .rule = rule_of_directions(rule, 0.02)});
  const auto theirs = whole.add({.name = "w", .count = 45, .width = 5, .rule = rule});
  std::vector<float> weights(45, 0.5f), expected = weights, gradient(45), kept(45);
  LocalDirections directions(parameters_, of(rule), next_);
  for (int t = 1; t <= 3; ++t) {
    const double rate = 0.02 / t;
    for (std::size_t i = 0; i < 45; ++i) gradient[i] = gradient_at(i, t);
    whole.update({static_cast<std::uint64_t>(t), rate, 1},
                 {.parameter = theirs, .weights = expected, .gradient = gradient, .copy = {}});
    step(directions, t, rate / 0.02);
    for (std::size_t i = 0; i < 45; ++i) kept[i] += parameters_.gradient(0)[i];
  }
  turned.update({3, 0, 1}, {.parameter = mine, .weights = weights, .gradient = kept, .copy = {}});
  for (std::size_t i = 0; i < 45; ++i) ASSERT_NEAR(weights[i], expected[i], 1e-6);
}

TEST_F(LocalDirectionsTest, AClipIsOfTheNormThatTheMeanOverRanksHas) {
  LocalDirections directions(parameters_, of(Sgd{.momentum = 0.5}, 4, 0.25), next_);
  step(directions, 1);
  double squares = 0;
  for (std::size_t i = 0; i < 45; ++i) squares += std::pow(gradient_at(i, 1), 2);
  for (std::size_t i = 0; i < 3; ++i) squares += std::pow(gradient_at(i, 1), 2);
  EXPECT_NEAR(directions.squares(), squares, 1e-9);
  const double scale = 0.25 / std::sqrt(squares / 4);
  ASSERT_LT(scale, 1);
  EXPECT_NEAR(parameters_.gradient(0)[7], scale * gradient_at(7, 1), 1e-6);
  EXPECT_NEAR(parameters_.gradient(1)[2], scale * gradient_at(2, 1), 1e-6);
  EXPECT_THAT(next_.told, testing::ElementsAre(1, 0));
}

TEST_F(LocalDirectionsTest, GradientsOfPrunedWeightsAreNotInTheNorm) {
  ParameterSet parameters({{"blk.0.w", {2, 2}, 0.5f, 0}});
  std::ranges::copy(std::vector<float>{0, 1, 0, 1}, parameters.values(0).begin());
  for (const bool prunes : {false, true}) {
    LocalDirections directions(parameters, {{true}, Sgd{.momentum = 0.5}, 1, 0, 1, prunes}, next_);
    std::ranges::copy(std::vector<float>{3, 4, 5, 6}, parameters.gradient(0).begin());
    directions.begin(1);
    directions.ready(0);
    directions.finish();
    EXPECT_EQ(directions.squares(), prunes ? 52 : 86);
  }
}

TEST_F(LocalDirectionsTest, AGradientThatIsNoNumberPassesAndLeavesTheMoments) {
  for (const double clip : {0.0, 1.0}) {
    LocalDirections directions(parameters_, of(Adam{}, 2, clip), next_);
    step(directions, 1);
    const auto before = directions.bytes();
    std::ranges::fill(parameters_.gradient(0), 2.0f);
    parameters_.gradient(0)[4] = NAN;
    directions.begin(2);
    directions.ready(0);
    directions.finish();
    EXPECT_EQ(directions.bytes(), before) << clip;
    EXPECT_TRUE(std::isnan(parameters_.gradient(0)[4]));
    EXPECT_EQ(parameters_.gradient(0)[5], 2.0f);
    EXPECT_TRUE(std::isnan(directions.squares()));
  }
}

TEST_F(LocalDirectionsTest, ItsStateGoesOnBitForBitAndOthersAreRefused) {
  LocalDirections one(parameters_, of(Adam{}, 2), next_), two(parameters_, of(Adam{}, 2), next_);
  step(one, 1);
  two.restore(one.bytes());
  step(one, 2);
  const std::vector<float> expected(parameters_.gradient(0).begin(), parameters_.gradient(0).end());
  step(two, 2);
  EXPECT_TRUE(std::ranges::equal(parameters_.gradient(0), expected));
  ASSERT_EQ(two.state().size(), 2u);
  EXPECT_EQ(two.state()[1].name, "w/exp_avg_sq");
  auto bytes = one.bytes();
  bytes.pop_back();
  try {
    two.restore(bytes);
    FAIL() << "it took a state of another size";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("same model and --reduce"));
  }
}

TEST(LocalDirections, RulesWithoutMomentsHaveNone) {
  EXPECT_TRUE(has_directions(Adam{}));
  EXPECT_TRUE(has_directions(Sgd{.momentum = 0.9}));
  EXPECT_FALSE(has_directions(Sgd{}));
  EXPECT_FALSE(has_directions(RowwiseAdagrad{}));
}

}  // namespace
}  // namespace tandem::training
