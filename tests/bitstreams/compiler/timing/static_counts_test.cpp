// SPDX-License-Identifier: Apache-2.0
//
// What a kernel counts without a run.
#include "bitstreams/compiler/timing/static_counts.h"

#include <gtest/gtest.h>

#include "bitstreams/compiler/timing/estimate.h"
#include "bitstreams/compiler/timing/loop_interval.h"

namespace tandem::timing {
namespace {

LoopModel counted_loop(int first_counter, int parent, double trips, bool tests_first) {
  LoopModel loop;
  loop.file = "src/k.cpp";
  loop.line = 10 + first_counter;
  loop.header = first_counter;
  loop.latches = {tests_first ? first_counter + 1 : first_counter};
  loop.entries = first_counter + 2;
  loop.tests_first = tests_first;
  loop.parent = parent;
  loop.fixed_trips = trips;
  return loop;
}

// k() has a loop of 10 trips around one of 20 that reads `in`, writes `local` and calls helper();
// helper() has a loop without a constant bound.
Analysis nested() {
  Analysis analysis;
  KernelModel& model = analysis.model;
  model.kernel = "k";
  model.num_counters = 16;
  FunctionModel helper, kernel;
  helper.name = "helper";
  helper.entry = 8;
  helper.loops = {counted_loop(9, -1, 0, true)};
  kernel.name = "k";
  kernel.entry = 0;
  kernel.loops = {counted_loop(1, -1, 10, true), counted_loop(4, 0, 20, false)};
  kernel.calls = {{"helper", 7, 1, false}};
  kernel.sites = {0, 1};
  SiteModel in, local;
  in.block = local.block = 7;
  in.loop = local.loop = 1;
  in.array = "in";
  local.array = "local";
  local.writes = true;
  model.sites = {in, local};
  model.functions = {helper, kernel};
  analysis.sites = {{1, 0, "%in", "i32*", "4"}, {2, 1, "%local", "i32*", "4"}};
  return analysis;
}

TEST(StaticCounts, ConstantTripsMultiply) {
  const Analysis analysis = nested();
  const StaticCounts made = static_counts(analysis, {{"in", "gmem", 0}});
  const LoopIntervals loops(analysis.model, made.counts, true);
  const FunctionModel& kernel = analysis.model.functions[1];
  EXPECT_EQ(loops.count(kernel.loops[0].entries), 1);
  EXPECT_EQ(loops.trips(kernel.loops[0]), 10);
  EXPECT_EQ(loops.count(kernel.loops[1].entries), 10);
  EXPECT_EQ(loops.trips(kernel.loops[1]), 200);
  EXPECT_EQ(loops.count(8), 200);  // calls of the helper
  EXPECT_EQ(made.unbounded, std::vector<std::string>{"k.cpp:19"});
}

TEST(StaticCounts, PortsAreDeviceMemoryAndOtherPointersAreLocal) {
  const StaticCounts made = static_counts(nested(), {{"other", "g0", 0}, {"in", "g1", 0}});
  const SiteRecord& in = made.counts.sites[0];
  EXPECT_EQ(in.accesses, 200u);
  EXPECT_EQ(in.bytes, 800u);
  EXPECT_EQ(in.runs, 10u);  // a burst per entry of the inner loop
  EXPECT_EQ(in.first, made.arguments[1].address + 1);
  EXPECT_NE(made.arguments[0].address, made.arguments[1].address);
  EXPECT_EQ(made.counts.sites[1].others, 200u);
  EXPECT_EQ(made.counts.sites[1].accesses, 0u);
  EXPECT_EQ(made.counts.counters[7], 200u);
}

// The kernel starts a process and also has its loop and its call one after the other.
TEST(StaticCounts, ARegionsProcessesCountOnce) {
  Analysis analysis = nested();
  KernelModel& model = analysis.model;
  model.num_counters = 32;
  FunctionModel process;
  process.name = "process";
  process.entry = 16;
  process.loops = {counted_loop(17, -1, 10, true)};
  process.loops[0].line = model.functions[1].loops[0].line;
  process.calls = {{"helper", 20, 0, false}};
  model.functions.insert(model.functions.begin() + 1, process);
  model.functions[2].calls.push_back({"process", 21, -1, true});
  model.functions[2].calls.push_back({"helper", 22, -1, false});
  const StaticCounts made = static_counts(analysis, {});
  const LoopIntervals loops(model, made.counts, true);
  EXPECT_EQ(loops.trips(model.functions[1].loops[0]), 10);
  EXPECT_EQ(loops.trips(model.functions[2].loops[0]), 0);
  EXPECT_EQ(loops.trips(model.functions[2].loops[1]), 0);
  EXPECT_EQ(loops.count(8), 10);  // of the helper, by the process
}

TEST(StaticCounts, AKernelThatIsNotThereCountsNothing) {
  EXPECT_TRUE(static_counts({}, {}).counts.counters.empty());
}

}  // namespace
}  // namespace tandem::timing
