// SPDX-License-Identifier: Apache-2.0
//
// Measuring a real engine on the CPU, and serving afterwards.
#include "engine/planning/measure_costs.h"

#include <gmock/gmock.h>

#include "common/error.h"
#include "engine/planning/estimate_costs.h"
#include "host/engine/equivalence.h"
#include "support/hooked_attention_unit.h"

namespace tandem::engine {
namespace {

class MeasuredCosts : public Equivalence {
 protected:
  MeasuredCosts() {
    measure_.compute_id = "cpu";
    measure_.num_layers = rig_.model().config().num_layers;
    measure_.vocab_size = rig_.model().config().vocab_size;
    measure_.max_rows = 64;
    measure_.seconds = measure_.seconds_per_unit = 600;  // everything, on a slow machine too
  }
  EngineOptions measured(planner::CostTable& table) {
    EngineOptions options;
    options.costs = [this, &table](StepRunner& runner, std::span<const NamedUnit> units) {
      table = measure_costs(runner, units, measure_);
      silent_ = false;
      return table;
    };
    options.max_step_tokens = 64;
    return options;
  }
  // The second gives no answer while it is measured.
  std::vector<NamedUnit> one_silent_unit() {
    std::vector<NamedUnit> units = rig_.cpu_units({64, 64});
    const auto on_wait = [this] {
      if (silent_) throw Error("test", "no answer");
    };
    units[1].id = "card";
    units[1].unit = std::make_unique<test::HookedAttentionUnit>(
        std::move(units[1].unit), test::UnitHooks{.on_wait = on_wait});
    return units;
  }

  MeasureOptions measure_;
  bool silent_ = true;
};

TEST_F(MeasuredCosts, HaveEveryPart) {
  planner::CostTable table;
  const auto engine = rig_.engine(rig_.cpu_units({64}), measured(table));
  ASSERT_EQ(table.devices.size(), 1u);  // the unit and what computes are one device
  const planner::DeviceCost& unit = table.devices[0];
  const planner::DeviceCost& compute = *table.find("cpu");
  EXPECT_EQ(compute.dense_by_rows.points().front().x, 1);
  EXPECT_EQ(compute.dense_by_rows.points().back().x, 64);
  EXPECT_GT(compute.dense_s(1), 0);
  EXPECT_GE(compute.dense_s(64), compute.dense_s(1)) << "not greater if a single row had to wait";
  EXPECT_GT(compute.sampling_s + compute.sampling_row_s, 0);
  EXPECT_GT(compute.causal_pair_s, 0);
  EXPECT_GT(compute.merge_row_s, 0);
  const planner::AttentionCost* attention = unit.attention_of(attention_kind(rig_.geometry()));
  ASSERT_NE(attention, nullptr);
  EXPECT_GT(attention->by_tokens.points().size(), 2u);
  EXPECT_GT(attention->by_tokens(1 << 20), 0);
  EXPECT_GT(attention->per_pair_s, 0);
  EXPECT_GT(unit.launch_s, 0);
  EXPECT_GT(unit.page_move_s, 0);
  EXPECT_EQ(unit.to_device.bytes_per_s, 0) << "host memory has no link";
}

TEST_F(MeasuredCosts, LeaveNoTraceInTheTokens) {
  planner::CostTable table;
  EngineOptions options = measured(table);
  for (const bool follows : {false, true}) {
    options.follows_costs = follows;
    options.num_sub_batches = 0;
    expect_same(rig_.cpu_units({128, 128}), options);
  }
}

TEST_F(MeasuredCosts, AnUnitWithFewPagesIsMeasuredToo) {
  planner::CostTable table;
  const auto engine = rig_.engine(rig_.cpu_units({2}), measured(table));
  EXPECT_GE(table.find("cpu")->dense_by_rows.points().size(), 2u);
}

TEST_F(MeasuredCosts, AUnitThatGivesNoAnswerIsTakenAtItsWord) {
  planner::CostTable table;
  std::vector<std::string> reasons;
  measure_.on_unmeasured = [&](const std::string& why) { reasons.push_back(why); };
  std::vector<NamedUnit> units = one_silent_unit();
  const planner::DeviceCost stated = estimate_unit(units[1].id, *units[1].unit);
  const auto engine = rig_.engine(std::move(units), measured(table));
  EXPECT_THAT(reasons, testing::ElementsAre("[test] no answer"));
  EXPECT_EQ(table.find("card")->attention, stated.attention);
  EXPECT_NE(table.find("cpu")->attention, stated.attention);
  EXPECT_GT(table.find("cpu")->dense_s(64), 0);
}

TEST_F(MeasuredCosts, WithoutThatItIsAnError) {
  planner::CostTable table;
  EXPECT_THROW(rig_.engine(one_silent_unit(), measured(table)), Error);
}

// A unit that takes long for its first pages is measured on these.
TEST_F(MeasuredCosts, NoTimeLeavesTheCurveItsLeastPoints) {
  planner::CostTable table;
  measure_.seconds_per_unit = 0;
  const auto engine = rig_.engine(rig_.cpu_units({512}), measured(table));
  EXPECT_EQ(table.devices[0].attention.front().by_tokens.points().size(), 2u);
}

TEST_F(MeasuredCosts, EstimatesNeedNoMeasuring) {
  EngineOptions options;
  options.costs = [](StepRunner& runner, std::span<const NamedUnit> units) {
    return estimate_costs({"cpu", static_cast<double>(runner.weights().bytes), 1e10}, units);
  };
  options.num_sub_batches = 0;
  auto engine = rig_.engine(rig_.cpu_units({128}), options);
  run_all(*engine, {greedy(rig_.prompt(20, 1), 24)});
  const PlanStatus plan = engine->status().plan;
  EXPECT_EQ(plan.mode, "own attention");
  EXPECT_GT(plan.predicted_s, 0);
  EXPECT_GT(plan.measured_s, 0);
}

}  // namespace
}  // namespace tandem::engine
