// SPDX-License-Identifier: Apache-2.0
//
// The planner of a loop by itself: what it deals, what it takes for an accident, what it counts.
#include "engine/planning/step_planner.h"

#include <gtest/gtest.h>

#include "engine/planning/estimate_costs.h"
#include "engine/planning/step_work.h"
#include "host/planner/mode/machines.h"

namespace tandem::engine {
namespace {

StepPlanner planner_of(const planner::MachineModel& machine) {
  PlanOptions options;
  options.deals_shares = true;
  options.unit_ids = {"own", "card"};
  return {machine, options};
}

planner::Outlook outlook_of(double own_room) {
  planner::Outlook outlook;
  outlook.prompt = outlook.output = 100;
  outlook.most_rows = 64;
  outlook.step_rows = 256;
  outlook.room = {own_room, 1e6};
  return outlook;
}

TEST(StepPlanner, AllMayRunUnlessFewerAreClearlyFaster) {
  const planner::MachineModel slow_card = planner::machine_with({1e-4}, 1e-3);
  StepPlanner roomy = planner_of(slow_card);
  EXPECT_TRUE(roomy.deal(outlook_of(1e6), {}));
  EXPECT_EQ(roomy.max_running(), 64);
  StepPlanner narrow = planner_of(slow_card);
  EXPECT_TRUE(narrow.deal(outlook_of(3000), {}));
  EXPECT_LE(narrow.max_running(), 20) << "what the own memory holds";
}

TEST(StepPlanner, TheSameLoadIsDealtOnce) {
  StepPlanner planner = planner_of(planner::machine_with({1e-6}, 1e-5));
  EXPECT_TRUE(planner.deal(outlook_of(1e6), {}));
  EXPECT_FALSE(planner.deal(outlook_of(1e6), {}));
  planner::Outlook other = outlook_of(1e6);
  other.prompt = 120;
  EXPECT_TRUE(planner.deal(other, {}));
  other.room[1] = 0;
  EXPECT_TRUE(planner.deal(other, {})) << "a unit is lost";
  EXPECT_NEAR(planner.shares()[1], 0, 1e-12);
}

TEST(StepPlanner, OneSlowMomentOfTheHostIsAnAccident) {
  StepPlanner planner = planner_of(planner::machine_with({1e-6}, 1e-5));
  for (int i = 0; i < 100; ++i) planner.learn_host(1e-3);
  EXPECT_NEAR(planner.machine().host_s, 1e-3, 1e-5);
  planner.learn_host(10);
  EXPECT_LT(planner.machine().host_s, 1.5e-3);
  for (int i = 0; i < 100; ++i) planner.learn_host(0.1);
  EXPECT_NEAR(planner.machine().host_s, 0.1, 0.01) << "not the second time";
}

TEST(StepPlanner, GuessesAreSampledRows) {
  const planner::MachineModel machine = planner::machine_with({1e-6}, 1e-5);
  planner::SubBatch batch;
  batch.units.resize(2);
  PageTable table;
  table.blocks = {{0, 3}};
  table.held = {1, 0};
  add_step_work(machine, {1, 10, 5, true, 0, 4}, table, batch);
  EXPECT_EQ(batch.sampled, 5);
  EXPECT_EQ(batch.rows, 5);
  add_step_work(machine, {2, 10, 5, true, 0, 0}, table, batch);
  EXPECT_EQ(batch.sampled, 6) << "of a prompt only the last row";
}

// Otherwise a step of 256 rows would correct what one of 16 takes.
TEST(StepPlanner, EstimatesOfManyRowsAreCorrectedByThemselves) {
  const planner::CostTable table = estimate_costs({"cpu", 1e9, 1e10}, {});
  const planner::Curve& dense = table.devices.front().dense_by_rows;
  EXPECT_NEAR(dense(1), 0.1, 1e-12);
  EXPECT_NEAR(dense(16), 0.2, 1e-12);
  EXPECT_NEAR(dense(1024), 12.8, 1e-9);
  const planner::Curve corrected = dense.corrected_at(1024, 0.5);
  EXPECT_NEAR(corrected(1024), 6.4, 1e-9);
  EXPECT_EQ(corrected(16), dense(16));
}

}  // namespace
}  // namespace tandem::engine
