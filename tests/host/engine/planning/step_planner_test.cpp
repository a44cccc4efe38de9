// SPDX-License-Identifier: Apache-2.0
//
// The planner of a loop alone: its shares, the accidents that it ignores, its counters.
#include "engine/planning/step_planner.h"

#include <gtest/gtest.h>

#include <utility>

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

PageTable table_on(std::vector<std::uint32_t> held) {
  PageTable table;
  for (std::size_t u = 0; u < held.size(); ++u) {
    for (std::uint32_t i = 0; i < held[u]; ++i) table.blocks.push_back({static_cast<int>(u), i});
  }
  table.held = std::move(held);
  return table;
}

// Eight decode rows with their tokens on one of the units.
void plan_decode_rows(StepPlanner& planner, std::size_t unit) {
  std::vector<std::uint32_t> held(planner.num_units());
  held[unit] = 8;
  const PageTable table = table_on(held);
  planner.begin();
  for (SequenceId id = 0; id < 8; ++id) {
    planner.add({id, 1000, 1, true, id < 4 ? 0 : 1, 0}, table);
  }
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

TEST(StepPlanner, ThoseThatAreThereAreNoLimitForThoseThatCome) {
  StepPlanner planner = planner_of(planner::machine_with({1e-6}, 1e-5));
  planner::Outlook few = outlook_of(1e6);
  few.most_rows = 10;
  EXPECT_TRUE(planner.deal(few, {}));
  EXPECT_EQ(planner.max_running(), 64);
}

TEST(StepPlanner, SubBatchesAreCutByRowsAndByTheSlowestUnit) {
  const planner::MachineModel machine = planner::machine_with({2e-6}, 1e-5);
  const StepPlanner planner = planner_of(machine);
  const double per_row = (machine.compute.dense_s(8192) - machine.compute.dense_s(1)) / 8192;
  EXPECT_NEAR(planner.split_cost().seconds({1000, 0}), 1000 * per_row, 1e-9);
  EXPECT_NEAR(planner.split_cost().seconds({0, 1000}), 1000 * 32 * 2e-6, 1e-9);
  EXPECT_EQ(planner.most_sub_batches(), 2);
  EXPECT_EQ(StepPlanner(planner::machine_with({}), PlanOptions()).most_sub_batches(), 1);
}

TEST(StepPlanner, RowsOfPromptsStandBesideTheDecodeRows) {
  for (const auto& [target_s, rows] : {std::pair(1e-6, 4), std::pair(100.0, 248)}) {
    PlanOptions options;
    options.target_itl_s = target_s;
    options.unit_ids = {"own", "card"};
    StepPlanner planner(planner::machine_with({1e-6}, 1e-5), options);
    plan_decode_rows(planner, 0);
    const RowLimit limit = planner.limit_rows(8, {});
    EXPECT_EQ(limit.prefill_rows, rows);
    EXPECT_EQ(limit.step_rows, 8 + rows);
    EXPECT_EQ(planner.status().target_missed, rows == 4);
  }
}

TEST(StepPlanner, DealingRestsForAsLongAsItsCostDemands) {
  const auto at = [](int ms) { return Clock::TimePoint(std::chrono::milliseconds(ms)); };
  for (const auto& [took_ms, rest_ms] : {std::pair(4, 200), std::pair(1000, 500)}) {
    StepPlanner planner = planner_of(planner::machine_with({1e-6}, 1e-5));
    EXPECT_TRUE(planner.deal(outlook_of(1e6), at(1000)));
    planner.deal_took(std::chrono::milliseconds(took_ms));
    planner::Outlook other = outlook_of(1e6);
    other.prompt = 200;
    EXPECT_FALSE(planner.deal(other, at(1000 + rest_ms - 1))) << took_ms;
    EXPECT_TRUE(planner.deal(other, at(1000 + rest_ms))) << took_ms;
    planner.deal_took(std::chrono::milliseconds(took_ms));
    other.room[1] = 0;
    EXPECT_TRUE(planner.deal(other, at(1000 + rest_ms))) << "a unit is lost";
  }
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

// A step whose units take so many times what is predicted, and the rest what is predicted.
void learn_step(StepPlanner& planner, const std::vector<double>& factors,
                Clock::TimePoint now = Clock::TimePoint(std::chrono::seconds(1))) {
  StepMeasure measure;
  const planner::StepTime& time = planner.predicted();
  measure.run_s = time.total;
  measure.compute_busy_s = time.compute_busy() - time.own_attention;
  measure.parts = StepTimes{};
  measure.parts->dense = time.dense;
  for (std::size_t u = 0; u < factors.size(); ++u) {
    const double busy_s =
        planner.machine().units[u].is_own ? time.own_attention : time.units[u] + time.links[u];
    measure.unit_busy_s.push_back(factors[u] * busy_s);
  }
  planner.learn(measure, now);
}

double part_s(const StepPlanner& planner, const std::string& name, const std::string& device) {
  for (const PlanPart& part : planner.status().parts) {
    if (part.name == name && part.device == device) return part.predicted_s;
  }
  return -1;
}

TEST(StepPlanner, WhereNoOtherUnitWorksAStepIsWhole) {
  planner::MachineModel machine = planner::machine_with({1e-6}, 1e-5);
  machine.compute.dense_by_rows = planner::Curve({{8, 0.032}, {16, 0.064}});
  StepPlanner planner = planner_of(machine);
  plan_decode_rows(planner, 0);
  EXPECT_EQ(planner.choose(2), 1);
  machine.compute.dense_by_rows = planner::Curve({{1, 0.004}, {16, 0.064}});
  StepPlanner other = planner_of(machine);
  plan_decode_rows(other, 1);
  EXPECT_EQ(other.choose(2), 2) << "half of the rows are computed while the card attends";
}

TEST(StepPlanner, TheWholeWayToAUnitIsAsSlowAsTheUnit) {
  planner::MachineModel machine = planner::machine_with({1e-7}, 1e-4);
  machine.bytes_to_unit = machine.bytes_from_unit = 1e4;
  for (planner::LinkCost* link : {&machine.units[1].to_unit, &machine.units[1].from_unit}) {
    link->bytes_per_s = 1e8;  // 0.8 ms for the rows of a layer
  }
  machine.units[1].launch_s = 1e-4;
  StepPlanner planner = planner_of(machine);
  plan_decode_rows(planner, 1);
  planner.choose(1);
  const double before = planner.predicted().units[1] + planner.predicted().links[1];
  learn_step(planner, {1, 5});
  plan_decode_rows(planner, 1);
  planner.choose(1);
  EXPECT_NEAR(planner.predicted().units[1] + planner.predicted().links[1], 5 * before,
              1e-6 * before);
}

TEST(StepPlanner, SharesAreDealtAnewWhenAUnitIsFarFromWhatItWas) {
  StepPlanner planner = planner_of(planner::machine_with({1e-6}, 1e-5));
  EXPECT_TRUE(planner.deal(outlook_of(1e6), {}));
  const double share = planner.shares()[1];
  const auto run = [&](double factor) {
    plan_decode_rows(planner, 1);
    planner.choose(1);
    learn_step(planner, {1, factor});
  };
  run(1.2);
  EXPECT_FALSE(planner.deal(outlook_of(1e6), {})) << "an eighth of it counts";
  run(8);
  EXPECT_TRUE(planner.deal(outlook_of(1e6), {}));
  EXPECT_LT(planner.shares()[1], 0.5 * share);
  run(0.1);
  EXPECT_TRUE(planner.deal(outlook_of(1e6), {})) << "faster";
  EXPECT_GT(planner.shares()[1], 0.5 * share);
}

TEST(StepPlanner, ASlowUnitWithoutWorkIsTriedAgainAfterAWhile) {
  StepPlanner planner = planner_of(planner::machine_with({1e-6}, 1e-5));
  const auto at = [](int seconds) { return Clock::TimePoint(std::chrono::seconds(seconds)); };
  EXPECT_TRUE(planner.deal(outlook_of(1e6), at(1)));
  plan_decode_rows(planner, 1);
  planner.choose(1);
  learn_step(planner, {1, 100}, at(1));
  EXPECT_TRUE(planner.deal(outlook_of(1e6), at(1)));
  const double slow = planner.machine().units[1].attention.correction;
  EXPECT_NEAR(slow, 100, 1e-6);
  EXPECT_FALSE(planner.deal(outlook_of(1e6), at(10)));
  EXPECT_EQ(planner.machine().units[1].attention.correction, slow);
  EXPECT_TRUE(planner.deal(outlook_of(1e6), at(12)));
  EXPECT_NEAR(planner.machine().units[1].attention.correction, 10, 1e-6);
  EXPECT_FALSE(planner.deal(outlook_of(1e6), at(13))) << "and waits again";
}

// Shares are fixed here, so that no deal() forgets anything.
TEST(StepPlanner, AWayThatWasSlowIsTriedAgainAfterAWhile) {
  PlanOptions options;
  options.unit_ids = {"own", "card"};
  StepPlanner planner(planner::machine_with({1e-6}, 1e-5), options);
  const StepWay slow{false, true}, usual{false, false};
  planner.set_ways({{slow, usual}, 0});
  const auto run = [&](double factor_of_slow, int seconds) {
    plan_decode_rows(planner, 1);
    planner.choose(1);
    StepMeasure measured;
    measured.run_s = (planner.way() == slow ? factor_of_slow : 1.1) * planner.predicted().total;
    planner.learn(measured, Clock::TimePoint(std::chrono::seconds(seconds)));
    return planner.way();
  };
  int steps_of_slow = 0;
  for (int i = 0; i < 50; ++i) steps_of_slow += run(3, 1) == slow ? 1 : 0;
  EXPECT_EQ(steps_of_slow, 1);
  for (int seconds = 2; seconds < 11; ++seconds) EXPECT_EQ(run(0.5, seconds), usual);
  int tried_at = 11;
  while (tried_at < 60 && run(0.5, tried_at) == usual) ++tried_at;
  EXPECT_LE(tried_at, 25) << "two times 10 s after it worked";
  EXPECT_EQ(run(0.5, tried_at), slow) << "it is no longer slow";
}

TEST(StepPlanner, WithoutTimesOfPartsAllButOwnAttentionIsDense) {
  StepPlanner planner = planner_of(planner::machine_with({1e-6}, 1e-5));
  plan_decode_rows(planner, 0);
  planner.choose(1);
  const double dense = planner.predicted().dense, own = planner.predicted().own_attention;
  StepMeasure measure;
  measure.unit_busy_s = {own, 0};
  measure.compute_busy_s = 10 * dense + own;
  measure.run_s = measure.compute_busy_s;
  planner.learn(measure, {});
  EXPECT_NEAR(part_s(planner, "compute", ""), dense, 1e-9);
  plan_decode_rows(planner, 0);
  planner.choose(1);
  EXPECT_NEAR(planner.predicted().dense, 10 * dense, 1e-6 * dense);
  EXPECT_NEAR(planner.predicted().own_attention, own, 1e-9);
}

TEST(StepPlanner, TwoSubBatchesInFlightTeachOnlyAJump) {
  StepPlanner planner = planner_of(planner::machine_with({1e-5}, 1e-5));
  const auto run = [&](double factor) {
    plan_decode_rows(planner, 1);
    planner.choose(2);
    learn_step(planner, {1, factor});
  };
  run(2);
  ASSERT_EQ(planner.status().num_sub_batches, 2);
  EXPECT_EQ(planner.machine().units[1].attention.correction, 1) << "waiting counts as busy there";
  run(6);
  EXPECT_NEAR(planner.machine().units[1].attention.correction, 6, 1e-6);
}

TEST(StepPlanner, MovesPayWhereTheRestGainsMoreThanTheyTake) {
  planner::MachineModel machine = planner::machine_with({1e-6}, 0);
  machine.units[0].page_move_s = machine.units[1].page_move_s = 1e-3;
  StepPlanner planner = planner_of(machine);
  EXPECT_TRUE(planner.deal(outlook_of(1e6), {}));
  const std::vector<double> all_own = {16000, 0};
  const std::vector<double> wanted = {16000 * planner.shares()[0], 16000 * planner.shares()[1]};
  const planner::AttentionLoad load{8, 16000, {}, 0, {}};
  const double gain = planner::time_of_shares(machine, load, all_own, 1).total -
                      planner::time_of_shares(machine, load, wanted, 1).total;
  ASSERT_GT(gain, 0);
  const double moves_s = 2 * wanted[1] / 16 * 1e-3;  // each page goes out and in
  EXPECT_TRUE(planner.moves_pay(all_own, 8, 1.01 * moves_s / gain, 16));
  EXPECT_FALSE(planner.moves_pay(all_own, 8, 0.99 * moves_s / gain, 16));
  EXPECT_FALSE(planner.moves_pay(wanted, 8, 1e9, 16)) << "they lie where they should";
}

TEST(StepPlanner, ParkingPaysWhereTwoCopiesTakeLessThanTheRows) {
  planner::MachineModel machine = planner::machine_with({1e-6}, 0);
  machine.units[0].page_move_s = 1e-3, machine.units[1].page_move_s = 2e-3;
  const StepPlanner planner = planner_of(machine);
  // 512 rows in steps of 256 take 256 ms; 10 pages of the first and x of the second 20 + 4 x ms.
  EXPECT_TRUE(planner.parking_pays(std::vector<std::uint32_t>{10, 58}, 512));
  EXPECT_FALSE(planner.parking_pays(std::vector<std::uint32_t>{10, 60}, 512));
  EXPECT_FALSE(planner.parking_pays(std::vector<std::uint32_t>{16, 0}, 32)) << "a short prompt";
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

// Two relaxations after 10 s each leave the slow one 1.057 times its estimate.
TEST(StepPlanner, AnotherWayMustBeClearlyFaster) {
  PlanOptions options;
  options.unit_ids = {"own", "card"};
  StepPlanner planner(planner::machine_with({1e-6}, 1e-5), options);
  const StepWay slow{false, true}, usual{false, false};
  planner.set_ways({{slow, usual}, 0});
  const auto run = [&](int seconds) {
    plan_decode_rows(planner, 1);
    planner.choose(1);
    StepMeasure measured;
    measured.run_s = (planner.way() == slow ? 3 : 1.07) * planner.predicted().total;
    planner.learn(measured, Clock::TimePoint(std::chrono::seconds(seconds)));
    return planner.way();
  };
  EXPECT_EQ(run(1), slow);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(run(1), usual);
  for (const int seconds : {11, 21, 22}) EXPECT_EQ(run(seconds), usual) << seconds;
  EXPECT_EQ(run(31), usual);
  EXPECT_EQ(run(32), slow) << "after a third relaxation";
}

TEST(StepPlanner, AWayThatHasNotWorkedIsNotKept) {
  StepPlanner planner = planner_of(planner::machine_with({1e-6}, 1e-5));
  const StepWay one{false, true}, other{true, false};
  planner.set_ways({{one, other}, 0});
  planner.set_ways({{other, one}, 0});
  EXPECT_EQ(planner.way(), other) << "the usual one of the new list";
  plan_decode_rows(planner, 1);
  planner.choose(1);
  learn_step(planner, {1, 1});
  planner.set_ways({{one, other}, 0});
  EXPECT_EQ(planner.way(), other) << "it has worked";
}

TEST(StepPlanner, AStepIsNeverLongerThanTheOptionsAllow) {
  PlanOptions options;
  options.target_itl_s = 100;
  options.unit_ids = {"own", "card"};
  StepPlanner planner(planner::machine_with({1e-6}, 1e-5), options);
  plan_decode_rows(planner, 0);
  EXPECT_EQ(planner.limit_rows(options.max_step_tokens, {}).step_rows, options.max_step_tokens);
}

TEST(StepPlanner, AUnitThatWasFasterIsBelievedWhileItHasNoWork) {
  StepPlanner planner = planner_of(planner::machine_with({1e-6}, 1e-5));
  const auto at = [](int seconds) { return Clock::TimePoint(std::chrono::seconds(seconds)); };
  EXPECT_TRUE(planner.deal(outlook_of(1e6), at(1)));
  plan_decode_rows(planner, 1);
  planner.choose(1);
  learn_step(planner, {1, 0.5}, at(1));
  const double fast = planner.machine().units[1].attention.correction;
  ASSERT_LT(fast, 1);
  planner.deal(outlook_of(1e6), at(12));
  EXPECT_EQ(planner.machine().units[1].attention.correction, fast);
}

TEST(StepPlanner, TheMeasuredTimeOfAStepIncludesTheHost) {
  StepPlanner planner = planner_of(planner::machine_with({1e-6}, 1e-5));
  planner.learn_host(0.25);
  plan_decode_rows(planner, 0);
  planner.choose(1);
  learn_step(planner, {1, 1});
  EXPECT_NEAR(planner.status().measured_s, planner.predicted().total + 0.25, 1e-12);
}

}  // namespace
}  // namespace tandem::engine
