// SPDX-License-Identifier: Apache-2.0
//
// When the work of layers changes: frozen layers, shares of tokens, and how long times hold.
#include "training/pipeline/changing_work.h"

#include <gtest/gtest.h>

namespace tandem::training {
namespace {

TEST(FrozenLayers, FollowTheCubicScheduleAndNeverReachTheOutput) {
  EXPECT_EQ(frozen_layers(0, 7, 5, 6), 0);
  EXPECT_EQ(frozen_layers(0.125, 4, 12, 100), 0);
  EXPECT_EQ(frozen_layers(0.125, 4, 13, 100), 1);  // (1/2)^3 of the run is over
  EXPECT_EQ(frozen_layers(0.125, 4, 25, 100), 2);  // (5/8)^3 = 0.244
  EXPECT_EQ(frozen_layers(0.125, 4, 99, 100), 3);
  EXPECT_EQ(frozen_layers(0.001, 2, 99, 100), 1);
}

TEST(DepthShare, FallsByACubicCurveBetweenATenthAndSevenTenthsOfTheRun) {
  EXPECT_EQ(depth_share(1, 50, 100), 1);
  EXPECT_EQ(depth_share(0.25, 10, 100), 1);
  EXPECT_NEAR(depth_share(0.25, 40, 100), 0.25 + 0.75 / 8, 1e-12);
  EXPECT_NEAR(depth_share(0.25, 70, 100), 0.25, 1e-12);
  EXPECT_NEAR(depth_share(0.25, 99, 100), 0.25, 1e-12);
}

TEST(Skew, RisesAsTheShareOfTokensFalls) {
  EXPECT_EQ(skew_at(2, 10, 100), 0);
  EXPECT_NEAR(skew_at(2, 40, 100), 2 - 2.0 / 8, 1e-12);
  EXPECT_EQ(skew_at(2, 99, 100), 2);
}

TEST(StepsAlike, EndWithTheNextChangeOrTheNextLook) {
  EXPECT_EQ(steps_alike({}, 4, 20, 100, 5), 80u);
  EXPECT_EQ(steps_alike({.freeze = 0.125}, 4, 14, 100, 5), 11u);  // until step 25
  EXPECT_EQ(steps_alike({.freeze = 0.125, .drifts = true}, 4, 14, 100, 5), 5u);
  EXPECT_EQ(steps_alike({.depth = 0.5}, 4, 20, 100, 5), 5u);
  EXPECT_EQ(steps_alike({.depth = 0.5}, 4, 70, 100, 5), 30u);
  EXPECT_EQ(steps_alike({.skew = 1}, 4, 20, 100, 5), 5u);
  EXPECT_EQ(steps_alike({.drifts = true}, 4, 98, 100, 5), 2u);
}

}  // namespace
}  // namespace tandem::training
