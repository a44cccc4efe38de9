// SPDX-License-Identifier: Apache-2.0
//
// New stages are taken where they gain more than their layers' way costs, and only there.
#include "training/pipeline/rebalance.h"

#include <gtest/gtest.h>

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

TEST(ChooseStages, BalancedStagesStay) {
  Skewed skewed;
  skewed.question.steps = 1'000'000;
  for (LayerProfile& layer : skewed.question.layers) layer = layer_of(1);
  EXPECT_FALSE(choose_stages(skewed.question));
}

}  // namespace
}  // namespace tandem::training
