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

TEST(BlockPlan, CountsTheCopiesOfARoundAndTheLongestChainOfThem) {
  std::vector<BlockLoad> blocks;
  for (const std::size_t entries : {100, 10, 20, 30, 40, 5}) blocks.push_back({entries, 1, 1});
  BlockPlan plan;
  plan.splits = {true, false, false, false, false, false};
  plan.joins_next = {false, true, true, false, false, false};
  const RoundWork work = round_work(blocks, plan, 2);
  EXPECT_EQ(work.moved, 100u + 10 + 20 + 30);
  EXPECT_EQ(work.copied, 2u * 100 + 60);
  EXPECT_EQ(work.longest, 200u);
  EXPECT_DOUBLE_EQ(work.copies_of_a_thread(1), 260);
  EXPECT_DOUBLE_EQ(work.copies_of_a_thread(2), 200) << "one thread halves the largest block";
  plan.splits[0] = false;
  plan.joins_next = {false, true, false, false, true, false};
  EXPECT_EQ(round_work(blocks, plan, 2).longest, 45u);
  EXPECT_EQ(round_work(blocks, plan, 2).moved, 75u);
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

TEST(BlockPlan, FusesARunWhoseShareIsTheMidpoint) {
  // shares of 1/8 and 5/8: the midpoint is 3/8
  const BlockPlan plan = plan_blocks(loads({1, 1, 1, 5}), {.most_entries = 9 * kMany});
  EXPECT_EQ(plan.midpoint, 0.375);
  EXPECT_THAT(plan.joins_next, ElementsAre(true, true, false, false));
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

TEST(BlockPlan, ABlockOfWhichHalfLiesInEachRunGoesToTheFirst) {
  EXPECT_THAT(balanced_runs(std::vector<double>{1, 1, 1}, 2), ElementsAre(0, 2, 3));
  EXPECT_THAT(balanced_runs(std::vector<double>{4}, 2), ElementsAre(0, 1, 1));
}

TEST(RoundBudget, CountsTheRoundsSoFarAndTheIterationsToCome) {
  // 2 s for 4 iterations and 12 to come: 8 s, of which a quarter is for rounds.
  const RoundBudget budget{0.25, 2, 1.5, 4};
  EXPECT_TRUE(budget.allows(0.5, 12));
  EXPECT_FALSE(budget.allows(0.53125, 12));
  EXPECT_FALSE(budget.allows(0.5, 11));
  EXPECT_FALSE((RoundBudget{0.25, 2, 1.75, 4}.allows(0.5, 12)));  // each alone would fit
  EXPECT_FALSE((RoundBudget{0.25, 1, 1.5, 4}.allows(0.5, 12)));
  EXPECT_FALSE((RoundBudget{0.125, 2, 1.5, 4}.allows(0.5, 12)));
}

}  // namespace
}  // namespace tandem::sparse
