// SPDX-License-Identifier: Apache-2.0
//
// New stages are taken where they gain more than their layers' way costs, and only there.
#include "training/pipeline/rebalance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"

namespace tandem::training {
namespace {

LayerProfile layer_of(double seconds, std::uint64_t bytes = 0) {
  return {{seconds / 3, 2 * seconds / 3, seconds / 3}, bytes};
}

// Two ranks, two micro-batches, six layers; the last three have become free.
struct Skewed {
  StagePlan plan{{PassOrder::kOneForward, 2, 2}, {3}, 6};
  RebalanceQuestion question{
      plan, {layer_of(3), layer_of(3), layer_of(3), layer_of(0), layer_of(0), layer_of(0)}};
  Skewed() {
    question.bytes_per_second = 1;
    question.seconds_per_layer = 0;
  }
};

TEST(ChooseStages, ThePredictedStepIsThatOfTheSchedule) {
  const Skewed skewed;
  EXPECT_DOUBLE_EQ(predicted_step(skewed.plan, skewed.question.layers), 2 * 9);
}

TEST(ChooseStages, TheSlowStageGivesLayersAway) {
  const Skewed skewed;
  const auto found = choose_stages(skewed.question);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cuts, planner::Cuts({2}));
  EXPECT_DOUBLE_EQ(found->old_step_seconds, 18);
  // Two forward passes, one second of waiting for the other stage, two backward passes.
  EXPECT_DOUBLE_EQ(found->new_step_seconds, 2 * 2 + 1 + 2 * 4);
}

TEST(ChooseStages, AMigrationMustPayWithinTheStepsThatTheProfileHolds) {
  Skewed skewed;
  skewed.question.layers[2].bytes = 30;  // of the layer that moves: 30 s, and a step gains 5
  skewed.question.steps = 6;
  EXPECT_FALSE(choose_stages(skewed.question));
  skewed.question.steps = 7;
  const auto found = choose_stages(skewed.question);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->migration_seconds, 30);
  skewed.question.seconds_per_layer = 5;
  EXPECT_FALSE(choose_stages(skewed.question));
}

// 18 seconds, 12 of them in the first three layers; half as much there when two are frozen.
struct Freezing {
  StagePlan plan{{PassOrder::kOneForward, 2, 8}, {3}, 6};
  RebalanceQuestion question{
      plan, {layer_of(6), layer_of(3), layer_of(3), layer_of(3), layer_of(3), layer_of(0)}};
  Freezing() {
    question.bytes_per_second = 1;
    question.seconds_per_layer = 0;
    question.steps = 4;
  }
  double step(int cut) const {
    StagePlan other = plan;
    other.cuts = {cut};
    return predicted_step(other, question.layers);
  }
};

TEST(ChooseStages, LayersThatWillComeBackMustPayForBothMigrations) {
  Freezing freezing;
  const double gain = 4 * (freezing.step(3) - freezing.step(2));
  ASSERT_GT(gain, 0);
  freezing.question.layers[2].bytes = static_cast<std::uint64_t>(0.75 * gain);
  const auto found = choose_stages(freezing.question);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cuts, planner::Cuts({2}));
  freezing.question.later = {{100, 2}};  // 6 and 6 seconds as the stages are
  EXPECT_FALSE(choose_stages(freezing.question));
  freezing.question.layers[2].bytes = static_cast<std::uint64_t>(0.45 * gain);
  EXPECT_TRUE(choose_stages(freezing.question));
}

TEST(ChooseStages, ALaterPhaseDecidesWhetherAMigrationPays) {
  Freezing freezing;
  const double gain = freezing.step(3) - freezing.step(2);
  freezing.question.layers[2].bytes = static_cast<std::uint64_t>(5 * gain);
  EXPECT_FALSE(choose_stages(freezing.question));
  freezing.question.later = {{2, 0}};
  EXPECT_TRUE(choose_stages(freezing.question));
}

TEST(ChooseStages, LayersThatFreezeLaterMoveLater) {
  Freezing freezing;
  freezing.plan.cuts = {2};
  freezing.question.later = {{100, 2}};
  EXPECT_FALSE(choose_stages(freezing.question));
  freezing.question.layers = with_frozen(freezing.question.layers, 2);
  const auto found = choose_stages(freezing.question);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cuts, planner::Cuts({3}));
}

TEST(ChooseStages, StagesThatGainLessThanTheNoiseStay) {
  Skewed skewed;  // 13 in place of 18 seconds
  skewed.question.least_gain = 0.27;
  EXPECT_TRUE(choose_stages(skewed.question));
  skewed.question.least_gain = 0.28;
  EXPECT_FALSE(choose_stages(skewed.question));
}

TEST(Repacking, StagesOnAsManyRanksMustGainMoreThanTheNoise) {
  Skewed skewed;  // one rank takes 18 seconds too
  skewed.question.repack = 0;
  skewed.question.most_ranks = 2;
  skewed.question.least_gain = 0.27;
  ASSERT_TRUE(choose_stages(skewed.question));
  EXPECT_EQ(choose_stages(skewed.question)->ranks, 2);
  skewed.question.least_gain = 0.28;
  EXPECT_FALSE(choose_stages(skewed.question));
}

TEST(ChooseStages, FrozenLayersHaveNoBackwardPass) {
  const auto layers = with_frozen({layer_of(3, 7), layer_of(6, 8)}, 1);
  EXPECT_EQ(layers[0].seconds.forward, 1);
  EXPECT_EQ(layers[0].seconds.backward, 0);
  EXPECT_EQ(layers[0].seconds.weights, 0);
  EXPECT_EQ(layers[0].bytes, 7u);
  EXPECT_EQ(layers[1].seconds.backward, 4);
}

TEST(ChooseStages, TheBottleneckIsTheSlowestRanksSum) {
  Skewed skewed;
  EXPECT_DOUBLE_EQ(bottleneck_seconds(skewed.plan, skewed.question.layers), 9);
  StagePlan chunks{{PassOrder::kInterleaved, 2, 2, 2}, {1, 2, 4}, 6};  // ranks 0, 1, 0, 1
  EXPECT_DOUBLE_EQ(bottleneck_seconds(chunks, skewed.question.layers), 6);
}

// Eight equal layers over four ranks, which may become fewer.
struct Even {
  StagePlan plan{{PassOrder::kOneForward, 4, 4}, {2, 4, 6}, 8};
  RebalanceQuestion question{plan, {}};
  Even() {
    for (int layer = 0; layer < 8; ++layer) question.layers.push_back(layer_of(1, 10));
    question.seconds_per_layer = 0;
    question.bytes_per_second = 1e12;
    question.steps = 100;
    question.most_ranks = 4;
  }
};

TEST(Repacking, WhatGainsNothingIsNotDone) {
  Even even;
  even.question.repack = 0.45;
  for (LayerProfile& layer : even.question.layers) layer.bytes = 0;
  ASSERT_TRUE(choose_stages(even.question)) << "a migration costs nothing";
  even.question.steps = 0;
  EXPECT_FALSE(choose_stages(even.question)) << "and gains nothing";
}

TEST(Repacking, TakesTheFewestRanksThatAreFastEnough) {
  Even even;  // a step takes (4 + ranks - 1) * 8 / ranks s: 14 of four ranks, 20 of two
  EXPECT_FALSE(choose_stages(even.question));
  even.question.repack = 0.1;
  EXPECT_FALSE(choose_stages(even.question));
  even.question.repack = 0.45;
  const auto found = choose_stages(even.question);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ranks, 2);
  EXPECT_EQ(found->cuts, planner::Cuts({4}));
  EXPECT_DOUBLE_EQ(found->new_step_seconds, 20);
}

TEST(Repacking, FreedRanksAreTakenBackWhenTheyPay) {
  Even even;
  even.plan.shape.ranks = 2;
  even.plan.cuts = {4};
  even.question.repack = 0.45;
  EXPECT_FALSE(choose_stages(even.question));  // still fast enough
  even.question.repack = 0.1;
  const auto found = choose_stages(even.question);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ranks, 4);
  EXPECT_EQ(found->cuts, planner::Cuts({2, 4, 6}));
}

TEST(Repacking, LayersMustFitTheMemoryOfFewerRanks) {
  Even even;
  even.question.repack = 10;
  even.question.rank_bytes = 40;
  EXPECT_EQ(choose_stages(even.question)->ranks, 2);
  even.question.rank_bytes = 39;
  EXPECT_EQ(choose_stages(even.question)->ranks, 3);
  even.question.rank_bytes = 9;  // a layer has 10
  EXPECT_FALSE(best_stages(even.question, 4));
}

// Other errors than a lack of memory are not a reason to stay.
TEST(BestStages, TimesThatCannotBeAreAnError) {
  Even even;
  even.question.layers[3].seconds.forward = -3;
  EXPECT_THAT([&] { best_stages(even.question, 4); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("layer 3 has a negative time")));
  even.question.layers[3].seconds.forward = 9e6;  // beyond the picoseconds that are counted
  EXPECT_THAT([&] { best_stages(even.question, 4); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("us together")));
}

TEST(Repacking, KeepsToWhatTheScheduleAllows) {
  Even even;
  even.question.repack = 10;
  even.plan.shape = {PassOrder::kInterleaved, 4, 4, 2};
  even.plan.cuts = {1, 2, 3, 4, 5, 6, 7};
  EXPECT_FALSE(best_stages(even.question, 3));  // 4 micro-batches do not divide
  EXPECT_EQ(choose_stages(even.question)->ranks, 1);
}

TEST(Repacking, AMigrationToFewerRanksMustPay) {
  Even even;
  even.question.repack = 0.45;
  even.question.bytes_per_second = 0.01;  // 2,000 s for the four layers, and 100 steps may lose 900
  even.question.steps = 1;
  EXPECT_FALSE(choose_stages(even.question));
}

TEST(ChooseStages, BalancedStagesStay) {
  Skewed skewed;
  skewed.question.steps = 1'000'000;
  for (LayerProfile& layer : skewed.question.layers) layer = layer_of(1);
  EXPECT_FALSE(choose_stages(skewed.question));
}

}  // namespace
}  // namespace tandem::training
