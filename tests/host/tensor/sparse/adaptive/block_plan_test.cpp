// SPDX-License-Identifier: Apache-2.0
//
// Intensities, plans and runs on blocks whose loads are given.
#include "tensor/sparse/adaptive/block_plan.h"

#include <gmock/gmock.h>

namespace tandem::sparse {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

constexpr std::size_t kMany = 1 << 12;

std::vector<BlockLoad> loads(const std::vector<double>& seconds) {
  std::vector<BlockLoad> result;
  for (const double s : seconds) result.push_back({kMany, s, s});
  return result;
}

TEST(BlockPlan, IntensitiesReachFromMinusOneToOneAroundTheMidpoint) {
  EXPECT_THAT(intensities(std::vector<double>{1, 2, 5}), ElementsAre(-1, -0.5, 1));
  EXPECT_THAT(intensities(std::vector<double>{3, 3}), ElementsAre(0, 0));
  EXPECT_TRUE(intensities({}).empty());
}

TEST(BlockPlan, AShareIsTheLargerOfOperationsAndTime) {
  EXPECT_THAT(shares(std::vector<BlockLoad>{{1, 9, 1}, {1, 1, 1}}),
              ElementsAre(DoubleEq(0.9), DoubleEq(0.5)));
  EXPECT_THAT(shares(std::vector<BlockLoad>{{1, 3, 0}, {1, 1, 0}}),
              ElementsAre(DoubleEq(0.75), DoubleEq(0.25)));
}

TEST(BlockPlan, SplitsTheHotAndFusesColdNeighbours) {
  const BlockPlan plan = plan_blocks(loads({10, 1, 1, 9, 1, 6}), {.most_entries = 2 * kMany});
  EXPECT_THAT(plan.splits, ElementsAre(true, false, false, true, false, true));
  EXPECT_THAT(plan.joins_next, ElementsAre(false, true, false, false, false, false));
  EXPECT_FALSE(plan.changes_nothing());
}

TEST(BlockPlan, FusesOnlyUpToTheMidpointAndTheMostEntries) {
  // the midpoint of 20 and 2 is 11: five cold blocks of 2, and not a sixth
  const BlockPlan plan = plan_blocks(loads({2, 2, 2, 2, 2, 2, 20}), {.most_entries = 9 * kMany});
  EXPECT_THAT(plan.joins_next, ElementsAre(true, true, true, true, false, false, false));
  const BlockPlan small = plan_blocks(loads({2, 2, 2, 2, 2, 2, 20}), {.most_entries = 2 * kMany});
  EXPECT_THAT(small.joins_next, ElementsAre(true, false, true, false, true, false, false));
}

TEST(BlockPlan, LeavesEqualAndSmallBlocks) {
  EXPECT_TRUE(plan_blocks(loads({4, 4, 4}), {}).changes_nothing());
  auto few = loads({9, 5, 1});
  few[0].entries = 2047;
  EXPECT_FALSE(plan_blocks(few, {}).splits[0]);
  few[0].entries = 2048;
  EXPECT_TRUE(plan_blocks(few, {}).splits[0]);
  EXPECT_TRUE(plan_blocks({}, {}).changes_nothing());
}

TEST(BlockPlan, TheDepthGrowsWithTheRootOfTheLogarithm) {
  EXPECT_EQ(depth_limit(1), 1);
  EXPECT_EQ(depth_limit(15), 1);
  EXPECT_EQ(depth_limit(16), 2);
  EXPECT_EQ(depth_limit(512), 3);
  EXPECT_EQ(depth_limit(1 << 16), 4);
}

TEST(BlockPlan, RunsAreBalanced) {
  const std::vector<double> seconds = {1, 1, 1, 3, 2, 2, 2};
  const auto bounds = balanced_runs(seconds, 2);
  EXPECT_THAT(bounds, ElementsAre(0, 4, 7));
  EXPECT_EQ(longest_run(seconds, bounds), 6);
  EXPECT_THAT(balanced_runs(std::vector<double>{5}, 3), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(balanced_runs({}, 2), ElementsAre(0, 0, 0));
}

}  // namespace
}  // namespace tandem::sparse
