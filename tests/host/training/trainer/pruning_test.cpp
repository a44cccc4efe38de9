// SPDX-License-Identifier: Apache-2.0
//
// Gradual pruning: when it cuts, what it cuts, and that zeros stay.
#include "training/trainer/pruning.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "common/error.h"

namespace tandem::training {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<ParameterSpec> block_and_output() {
  return {{"blk.0.ffn_up.weight", {2, 4}, 1, 0},
          {"blk.0.attn_norm.weight", {4}, 1, 0},
          {"output.weight", {2, 4}, 1, 0}};
}

TEST(Pruning, CutsByTheCubicSchedule) {
  const Pruning pruning{0.8, 0.1, 0.5, 10};
  std::vector<std::uint64_t> steps;
  std::vector<double> shares;
  for (std::uint64_t step = 1; step <= 100; ++step) {
    const auto share = cut_after(pruning, step, 100);
    if (!share) continue;
    steps.push_back(step);
    shares.push_back(*share);
  }
  EXPECT_THAT(steps, ElementsAre(20, 30, 40, 50));
  for (std::size_t at = 0; at < shares.size(); ++at) {
    const double left = 1 - static_cast<double>(at + 1) / 4;
    EXPECT_NEAR(shares[at], 0.8 * (1 - left * left * left), 1e-12);
  }
  EXPECT_FALSE(cut_after({}, 20, 100));
}

TEST(Pruning, CutsTwentyTimesUnlessToldOtherwise) {
  const Pruning pruning{0.9};
  int num_cuts = 0;
  double last = 0;
  for (std::uint64_t step = 1; step <= 1000; ++step) {
    const auto share = cut_after(pruning, step, 1000);
    if (!share) continue;
    ++num_cuts;
    EXPECT_GT(step, 100u);
    EXPECT_LE(step, 700u);
    EXPECT_GT(*share, last);
    last = *share;
  }
  EXPECT_EQ(num_cuts, 20);
  EXPECT_DOUBLE_EQ(last, 0.9);
}

TEST(Pruning, TheLastStepCutsEvenIfStepsDoNotDivide) {
  EXPECT_TRUE(cut_after({0.5, 0, 1, 7}, 10, 10));
  EXPECT_TRUE(cut_after({0.5, 0, 0.01, 0}, 1, 10)) << "a run of few steps";
}

TEST(Pruning, TakesTheSmallestAndOfEqualOnesTheFirst) {
  std::vector<float> values = {3, -1, 2, 1, -4, 1, 0, 5};
  prune_values(values, 0.1);
  EXPECT_THAT(values, ElementsAre(3, -1, 2, 1, -4, 1, 0, 5));
  prune_values(values, 0.4);
  EXPECT_THAT(values, ElementsAre(3, 0, 2, 0, -4, 1, 0, 5));
}

TEST(Pruning, ZerosStayZeroAndOnlyMatricesOfBlocksAreCut) {
  ParameterSet parameters(block_and_output());
  parameters.draw(5);
  const Pruning pruning{0.5, 0, 1, 2};
  const auto zeros = [&](std::size_t parameter) {
    return std::ranges::count(parameters.values(parameter), 0.0f);
  };
  const auto update = [&](std::uint64_t step) {
    KeptZeros kept(pruning, parameters);
    for (std::size_t at = 0; at < parameters.size(); ++at) {
      for (float& value : parameters.values(at)) value += 0.001f;
    }
    kept.restore(step, 4);
  };
  update(1);
  EXPECT_EQ(zeros(0), 0);
  update(2);
  EXPECT_EQ(zeros(0), 3);  // 0.4375 of 8
  const std::vector<float> before(parameters.values(0).begin(), parameters.values(0).end());
  update(3);
  EXPECT_EQ(zeros(0), 3);
  for (std::size_t at = 0; at < before.size(); ++at) {
    EXPECT_EQ(before[at] == 0, parameters.values(0)[at] == 0) << at;
  }
  update(4);
  EXPECT_EQ(zeros(0), 4);
  EXPECT_EQ(zeros(1) + zeros(2), 0);
}

TEST(Pruning, TheMagnitudeOfAShareIsThatOfTheSortedValues) {
  std::mt19937 random(5);
  std::normal_distribution<float> draw;
  for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{500}}) {
    std::vector<float> values(count);
    for (float& value : values) value = draw(random) * (random() % 3 == 0 ? 1e-4f : 1.0f);
    values[0] = 0;
    const std::size_t half = count / 2;
    const std::vector<std::span<const float>> own = {{values.data(), half}};
    const std::vector<std::span<const float>> other = {{values.data() + half, count - half}};
    const std::vector<std::span<const float>> all = {own[0], other[0]};
    std::vector<float> sorted;
    for (const float value : values) sorted.push_back(std::abs(value));
    std::ranges::sort(sorted);
    for (const double share : {0.0, 0.001, 0.3, 0.5, 0.99}) {
      const auto place = static_cast<std::size_t>(share * static_cast<double>(count));
      const float expected = place == 0 ? 0 : sorted[place - 1];
      EXPECT_EQ(magnitude_of_share(share, all, [](const auto&) {}), expected) << share;
    }
  }
}

TEST(Pruning, TheMagnitudeOfAShareIsFoundByTheCountsOfAllHolders) {
  const std::vector<float> small = {0.1f, -0.2f, 0.3f}, large = {1, 2, -3};
  const std::vector<std::span<const float>> first = {small}, second = {large};
  // The other holder answers as if it made the same search.
  std::vector<std::vector<std::uint64_t>> rounds;
  magnitude_of_share(0.5, std::vector<std::span<const float>>{small, large},
                     [&](const auto& counts) { rounds.push_back(counts); });
  ASSERT_EQ(rounds.size(), 3u);
  for (const auto& own : {first, second}) {
    std::size_t round = 0;
    EXPECT_EQ(magnitude_of_share(0.5, own, [&](auto& counts) { counts = rounds[round++]; }), 0.3f);
  }
}

TEST(Pruning, TogetherTheSmallestOfAllMatricesAreCut) {
  ParameterSet first(block_and_output()), second({{"blk.1.ffn_up.weight", {2, 4}, 1, 0}});
  for (std::size_t parameter : {1, 2}) std::ranges::fill(first.values(parameter), 0.01f);
  std::ranges::fill(first.values(0), 0.5f);
  second.draw(3);
  for (float& value : second.values(0)) value = value < 0 ? value - 1 : value + 1;
  const Pruning pruning{.share = 0.5, .begin = 0, .end = 1, .every = 2, .together = true};
  ParameterSet* const sets[] = {&first, &second};
  const auto zeros = [](ParameterSet& set, std::size_t parameter) {
    return std::ranges::count(set.values(parameter), 0.0f);
  };
  cut_together(pruning, {3, 4}, sets, sets, [](const auto&) {});
  EXPECT_EQ(zeros(first, 0), 0) << "no cut";
  KeptZeros(pruning, second).restore(4, 4);
  EXPECT_EQ(zeros(second, 0), 0) << "not of each matrix";
  cut_together({.share = 0.5, .begin = 0, .end = 1, .every = 2}, {4, 4}, sets, sets,
               [](const auto&) {});
  EXPECT_EQ(zeros(first, 0), 0) << "not together";
  cut_together(pruning, {4, 4}, sets, sets, [](const auto&) {});
  EXPECT_EQ(zeros(first, 0), 8);
  EXPECT_EQ(zeros(first, 1) + zeros(first, 2) + zeros(second, 0), 0);
}

TEST(Pruning, GradientsOfZerosDoNotCount) {
  const std::vector<ParameterSpec> specs = block_and_output();
  const std::vector<float> values = {0, 1, 0, 2, 1, 1, 1, 1}, gradient = {3, 4, 5, 0, 0, 0, 0, 2};
  EXPECT_EQ(gradient_squares(specs[0], values, gradient, true), 20);
  EXPECT_EQ(gradient_squares(specs[0], values, gradient, false), 54);
  EXPECT_EQ(gradient_squares(specs[2], values, gradient, true), 54);
}

TEST(Pruning, AGradientOfAZeroThatIsNotANumberIsNotHidden) {
  const std::vector<ParameterSpec> specs = block_and_output();
  const std::vector<float> values = {0, 1, 0, 2, 1, 1, 1, 1};
  for (const float wrong :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> gradient = {3, 4, wrong, 0, 0, 0, 0, 2};
    EXPECT_FALSE(std::isfinite(gradient_squares(specs[0], values, gradient, true))) << wrong;
  }
}

TEST(Pruning, WrongSharesAndOtherModelsAreNamed) {
  const auto check = [](const Pruning& pruning) { return [pruning] { check_pruning(pruning); }; };
  EXPECT_NO_THROW(check_pruning({}));
  for (const double share : {1.0, -0.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(check({share}), ThrowsMessage<Error>(HasSubstr("--prune ")));
  }
  EXPECT_THAT(check({0.5, 0.7, 0.7}), ThrowsMessage<Error>(HasSubstr("--prune-from")));
  EXPECT_THAT(check({0.5, 0.7, 1.1}), ThrowsMessage<Error>(HasSubstr("--prune-to")));
  const std::vector<ParameterSpec> table = {{"table", {2, 4}, 1, 0}};
  EXPECT_NO_THROW(require_pruned({}, table));
  EXPECT_NO_THROW(require_pruned({0.5}, block_and_output()));
  EXPECT_THAT([&] { require_pruned({0.5}, table); },
              ThrowsMessage<Error>(HasSubstr("--prune is for decoders")));
}

}  // namespace
}  // namespace tandem::training
