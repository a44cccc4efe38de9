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

using Ahead = std::vector<WorkAhead>;

TEST(WorkAhead, EndsWithTheRunOrWhereItsTimesAreNotKnown) {
  EXPECT_EQ(work_ahead({}, 4, 20, 100, 5), Ahead({{80, 0}}));
  EXPECT_EQ(work_ahead({}, 4, 100, 100, 5), Ahead());
  EXPECT_EQ(work_ahead({.depth = 0.5}, 4, 20, 100, 5), Ahead({{5, 0}}));
  EXPECT_EQ(work_ahead({.depth = 0.5}, 4, 70, 100, 5), Ahead({{30, 0}}));
  EXPECT_EQ(work_ahead({.skew = 1}, 4, 20, 100, 5), Ahead({{5, 0}}));
  EXPECT_EQ(work_ahead({.drifts = true}, 4, 98, 100, 5), Ahead({{2, 0}}));
}

TEST(WorkAhead, APhaseEndsWhereLayersFreeze) {
  const ChangingWork work{.freeze = 0.125};  // 0.125, 0.244, 0.422 and 0.670 of the run
  EXPECT_EQ(work_ahead(work, 4, 0, 100, 5), Ahead({{13, 0}, {12, 1}, {18, 2}, {57, 3}}));
  EXPECT_EQ(work_ahead(work, 4, 14, 100, 5), Ahead({{11, 1}, {18, 2}, {57, 3}}));
  EXPECT_EQ(work_ahead({.freeze = 0.125, .drifts = true}, 4, 14, 100, 15),
            Ahead({{11, 1}, {4, 2}}));
  EXPECT_EQ(work_ahead(work, 40, 0, 1000, 5).size(), kMostPhases);
}

}  // namespace
}  // namespace tandem::training
