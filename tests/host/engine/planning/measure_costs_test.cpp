// SPDX-License-Identifier: Apache-2.0
//
// Measuring a real engine on the CPU, and serving afterwards.
#include "engine/planning/measure_costs.h"

#include <gtest/gtest.h>

#include "engine/planning/estimate_costs.h"
#include "host/engine/equivalence.h"

namespace tandem::engine {
namespace {

class MeasuredCosts : public Equivalence {
 protected:
  EngineOptions measured(planner::CostTable& table) {
    EngineOptions options;
    options.costs = [this, &table](StepRunner& runner, std::span<const NamedUnit> units) {
      MeasureOptions measure;
      measure.compute_id = "cpu";
      measure.num_layers = rig_.model().config().num_layers;
      measure.vocab_size = rig_.model().config().vocab_size;
      measure.max_rows = 64;
      table = measure_costs(runner, units, measure);
      return table;
    };
    options.max_step_tokens = 64;
    return options;
  }
};

TEST_F(MeasuredCosts, HaveEveryPart) {
  planner::CostTable table;
  const auto engine = rig_.engine(rig_.cpu_units({64}), measured(table));
  ASSERT_EQ(table.devices.size(), 2u);  // the unit and what computes
  const planner::DeviceCost& unit = table.devices[0];
  const planner::DeviceCost& compute = *table.find("cpu");
  EXPECT_EQ(compute.dense_by_rows.points().front().x, 1);
  EXPECT_EQ(compute.dense_by_rows.points().back().x, 64);
  EXPECT_GT(compute.dense_s(1), 0);
  EXPECT_GT(compute.dense_s(64), compute.dense_s(1));
  EXPECT_GT(compute.sampling_row_s, 0);
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
