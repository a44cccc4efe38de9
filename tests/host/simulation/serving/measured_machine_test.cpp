// SPDX-License-Identifier: Apache-2.0
//
// A machine from its measured table.
#include <gmock/gmock.h>

#include "host/simulation/serving/message_of.h"
#include "planner/cost/cost_table_json.h"
#include "simulation/serving/simulate.h"

namespace tandem::simulation {
namespace {

using ::testing::HasSubstr;

// A millisecond per row, and of every 16 layers a microsecond per token.
planner::CostTable measured_table() {
  planner::DeviceCost cpu;
  cpu.id = "cpu";
  cpu.dense_by_rows = planner::Curve({{1, 1e-3}, {1000, 1}});
  cpu.attention.push_back({{4, DType::kF16}, planner::Curve::line(0, 1e-6 / 16), 0, 0, 1, 1});
  planner::DeviceCost card;
  card.id = "card:0";
  card.attention.push_back({{4, DType::kF16}, planner::Curve::line(0, 1e-6), 0, 0, 1, 1});
  card.to_device = card.from_device = {1e-5, 1e9};
  return {{"here", "a model", "none"}, {cpu, card}};
}

ServingOptions measured_options() {
  ServingOptions options;
  options.model = planner::model_preset("llama-3.2-1b");
  options.host_s = 0;
  return options;
}

ServingResult run_measured(const ServingOptions& options, const char* load) {
  return simulate_serving(measured_machine(write_cost_table(measured_table()), "table.json"),
                          options, Load(parse_load(load), 1));
}

// A step for two prompts of 10, then nine with 2 rows that see 10 + i tokens each.
TEST(MeasuredMachine, StepsTakeTheTimesOfItsTable) {
  ServingOptions options = measured_options();
  options.attention = AttentionPolicy::kOwn;
  const ServingResult result = run_measured(options, "batch:2,prompt=10,output=10,requests=2");
  double seconds = 20e-3;
  for (int step = 1; step < 10; ++step) seconds += 2e-3 + 2e-6 * (10 + step);
  EXPECT_NEAR(result.seconds, seconds, 1e-9);
  EXPECT_EQ(result.devices.size(), 1u);
  EXPECT_EQ(result.devices[0].name, "cpu");
  EXPECT_EQ(result.joules_per_token(), 0);
}

TEST(MeasuredMachine, OtherDevicesAttend) {
  ServingOptions options = measured_options();
  options.attention = AttentionPolicy::kUnits;
  const ServingResult result = run_measured(options, "batch:2,prompt=10,output=10,requests=2");
  ASSERT_EQ(result.devices.size(), 2u);
  EXPECT_EQ(result.devices[1].name, "card:0");
  EXPECT_GT(result.devices[1].utilisation, 0);
}

TEST(MeasuredMachine, SaysWhatTheTableLacks) {
  EXPECT_THAT(message_of([] { measured_machine("{", "table.json"); }), HasSubstr("'table.json': "));
  planner::CostTable idle = measured_table();
  idle.devices.erase(idle.devices.begin());
  EXPECT_THAT(message_of([&] { measured_machine(write_cost_table(idle), "table.json"); }),
              HasSubstr("no device of the table computes"));
  ServingOptions options = measured_options();
  options.precision.kv_dtype = DType::kI8;
  EXPECT_THAT(
      message_of([&] { run_measured(options, "batch:1"); }),
      HasSubstr("no attention of 4 query heads per KV head with i8 KV for cpu, but of 4 query "
                "heads per KV head with f16 KV"));
}

}  // namespace
}  // namespace tandem::simulation
