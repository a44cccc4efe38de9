// SPDX-License-Identifier: Apache-2.0
//
// The way of the rows, chosen per step, in virtual time: early queries and rings where they pay by
// the table, and by what steps have taken.
#include <gmock/gmock.h>

#include "host/engine/loop/virtual_cost_rig.h"
#include "host/planner/mode/machines.h"

namespace tandem::engine {
namespace {

constexpr StepWay kWhole{}, kEarly{true, false}, kRings{false, true};

// Dense layers take 1 ms per layer, a third of it behind the queries. The card's memory is as fast
// as the own one, and every way to it has 10 us each way.
planner::MachineModel machine_of_cards(double submit_s) {
  planner::MachineModel machine = planner::machine_with({1e-6}, 0);
  machine.compute.dense_by_rows = planner::Curve({{64, 16e-3}, {128, 32e-3}});
  planner::UnitModel& card = machine.units[1];
  card.to_unit.latency_s = submit_s, card.from_unit.latency_s = 10e-6;
  return machine;
}

using StepsByMode = std::map<std::string, std::uint64_t>;

StepsByMode steps_by_mode(CostRig& rig) {
  const auto steps = rig.loop().status().steps_by_mode;
  return {steps.begin(), steps.end()};
}

struct Tried {
  double seconds = 0;
  StepsByMode steps;
};

// All pages are on the card, so that only the way is chosen.
Tried serve_on_card(const planner::MachineModel& machine, const StepWays& ways, int context) {
  CostRig rig(machine);
  rig.ways = ways;
  rig.start({{0, 1}, 1});
  Tried tried;
  tried.seconds = rig.serve(std::vector<CostRequest>(8, {context, 40}));
  rig.expect_tokens();
  tried.steps = steps_by_mode(rig);
  return tried;
}

TEST(WaysInTheLoop, EarlyQueriesAreSentInStepsWhereTheyPay) {
  for (const double submit_s : {1e-6, 2e-5, 2e-4, 2e-3}) {
    for (const int context : {16, 256, 2048}) {
      SCOPED_TRACE(testing::Message() << submit_s << ' ' << context);
      const planner::MachineModel machine = machine_of_cards(submit_s);
      const Tried whole = serve_on_card(machine, {{kWhole}, 0.3}, context);
      const Tried early = serve_on_card(machine, {{kEarly}, 0.3}, context);
      const Tried chosen = serve_on_card(machine, {{kWhole, kEarly}, 0.3}, context);
      EXPECT_LE(chosen.seconds, 1.03 * std::min(whole.seconds, early.seconds));
    }
  }
}

TEST(WaysInTheLoop, TheStatusAndTheCountsNameTheWay) {
  const StepWays both{{kWhole, kEarly}, 0.3};
  const Tried pays = serve_on_card(machine_of_cards(1e-6), both, 2048);
  EXPECT_GT(pays.steps.at("shares, early queries"), 30u);
  const Tried does_not = serve_on_card(machine_of_cards(2e-3), both, 16);
  EXPECT_GT(does_not.steps.at("shares"), 30u);
  EXPECT_FALSE(does_not.steps.contains("shares, early queries"));
}

// Serves until the loop has run for so many steps; returns the way of the last one.
StepWay way_after(CostRig& rig, int steps) {
  for (int i = 0; i < steps; ++i) {
    const EngineStatus status = rig.loop().status();
    if (status.running + status.waiting < 8) rig.submit({512, 200});
    rig.step();
  }
  return rig.loop().status().plan.way;
}

TEST(WaysInTheLoop, AWayThatTakesLongerThanThePartsSayIsLeftAndTriedAgain) {
  CostRig rig(machine_of_cards(1e-6));
  rig.ways = {{kWhole, kEarly}, 0.3};
  rig.start({{0, 1}, 1});
  ASSERT_EQ(way_after(rig, 40), kEarly);
  rig.machine().early_factor = 1.5;
  ASSERT_EQ(way_after(rig, 60), kWhole);
  const EngineStatus status = rig.loop().status();
  EXPECT_NEAR(status.plan.predicted_s, status.plan.measured_s, 0.02 * status.plan.measured_s);
  rig.machine().early_factor = 1;
  EXPECT_EQ(way_after(rig, 600), kEarly) << "it is fast again, and a minute is over";
  rig.expect_tokens();
}

TEST(WaysInTheLoop, RingsAreUsedUnlessTheEnginesThreadIsFaster) {
  for (const auto& [factor, expected] : {std::pair(0.9, kRings), std::pair(1.3, kWhole)}) {
    CostRig rig(machine_of_cards(1e-6));
    rig.ways = {{kRings, kWhole}, 0};
    rig.machine().ring_factor = factor;
    rig.start({{0, 1}, 1});
    EXPECT_EQ(way_after(rig, 100), expected) << factor;
    EXPECT_GE(steps_by_mode(rig)["shares, rings"], 1u) << "the usual way is first";
  }
}

TEST(WaysInTheLoop, WithoutWorkElsewhereThereIsNoWay) {
  CostRig rig(machine_of_cards(1e-6));
  rig.ways = {{kRings, kWhole}, 0.3};
  rig.start({{1, 0}, 1});
  EXPECT_EQ(way_after(rig, 20), kWhole);
  EXPECT_EQ(rig.loop().status().plan.mode, "own attention");
  EXPECT_EQ(steps_by_mode(rig).size(), 1u);
}

}  // namespace
}  // namespace tandem::engine
