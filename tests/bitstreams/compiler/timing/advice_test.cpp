// SPDX-License-Identifier: Apache-2.0
//
// What streams, channels and changes of a kernel mean for its time.
#include "bitstreams/compiler/timing/advice.h"

#include <gtest/gtest.h>

#include "tests/bitstreams/compiler/timing/one_loop.h"

namespace tandem::timing {
namespace {

TEST(TimeEstimate, AStreamPassesAValuePerCycle) {
  OneLoop kernel(1000, 5);
  kernel.model.points = {{0, 0, true, 0, 1, "%s"}, {0, 0, true, 1, 1, "%s"}};
  EXPECT_EQ(kernel.time().loops.at(0).ii, 2);
  EXPECT_NE(kernel.time().loops.at(0).why.find("2 writes of one stream"), std::string::npos);
  kernel.model.points[1].stream = "%t";
  EXPECT_EQ(kernel.time().loops.at(0).ii, 1);
  kernel.model.points[1] = {0, 0, false, 1, 1, "%s"};
  EXPECT_EQ(kernel.time().loops.at(0).ii, 1);
  // Of branches that exclude each other each is taken half of the time.
  kernel.model.points = {{0, 0, true, 0, 3, "%s"}, {0, 0, true, 1, 4, "%s"}};
  kernel.model.num_counters = 5;
  kernel.counts.counters.insert(kernel.counts.counters.end(), {500, 500});
  EXPECT_EQ(kernel.time().loops.at(0).ii, 1);
}

TEST(TimeEstimate, SumsInAnyOrderAreUnrolledIntoATree) {
  OneLoop kernel(960, 5);
  kernel.loop().recurrences = {{6, 1, -1, true, "fadd", 9}};
  kernel.loop().fixed_trips = 960;
  kernel.loop().unroll = 4;
  EXPECT_EQ(kernel.time().loops.at(0).ii, 24);
  kernel.loop().balanced = true;
  EXPECT_EQ(kernel.time().loops.at(0).ii, 6);
  kernel.loop().unroll = 7;  // one of the copies may be the last
  EXPECT_EQ(kernel.time().loops.at(0).ii, 42);
  kernel.loop().unroll = 4;
  kernel.loop().fixed_trips = 0;  // not constant
  EXPECT_EQ(kernel.time().loops.at(0).ii, 24);
}

TEST(TimeEstimate, ARegionTakesWhatItsReplayTook) {
  OneLoop process(1000, 5);
  KernelModel model = process.model;
  model.functions[0].name = "p";
  model.functions[0].streams = true;
  FunctionModel region;
  region.name = "k";
  region.entry = 0;
  region.calls = {{"p", 0, -1, true}};
  PhaseModel phase;
  phase.call = 0;
  region.phases = {phase};
  model.functions.push_back(region);
  ReplayedRun replayed;
  replayed.bounded.regions[1] = 9000;
  replayed.unbounded.regions[1] = 5000;
  ReplayedStream stream;
  stream.name = "s";
  stream.file = "/a/k.cpp";
  stream.line = 3;
  stream.full_cycles = 4100;
  replayed.bounded.streams = {stream};
  stream.full_cycles = 0;
  stream.most = 40;
  replayed.unbounded.streams = {stream};
  const double free = estimate(model, process.counts, {}, process.card).cycles;
  const RunTime time = estimate(model, process.counts, {}, process.card, &replayed);
  EXPECT_LT(free, 1100);
  EXPECT_NEAR(time.cycles, 9000, 10);
  EXPECT_EQ(time.modelled_us_low, time.modelled_us);
  EXPECT_EQ(time.limit, "stream s (k.cpp:3)");
  EXPECT_EQ(time.why, "its depth is 2: its writer waits 4100 cycles for room");
  ASSERT_FALSE(time.advice.empty());
  EXPECT_NEAR(time.advice[0].saves_us, 4000 / 300.0, 0.01);
  EXPECT_NE(time.advice[0].text.find("a depth of up to 40 in place of 2"), std::string::npos);
  replayed.bounded.streams[0].stuck = true;
  EXPECT_NE(estimate(model, process.counts, {}, process.card, &replayed)
                .unknown.at(0)
                .find("with which the design stands still"),
            std::string::npos);
}

TEST(TimeAdvice, TellsWhatAChangeSaves) {
  OneLoop kernel(10'000, 8);
  EXPECT_TRUE(kernel.time().advice.empty());
  kernel.loop().recurrences = {{6, 1, -1, true, "fadd", 9}};
  RunTime time = kernel.time();
  ASSERT_EQ(time.advice.size(), 1u);
  EXPECT_EQ(time.advice[0].text.find("loop k.cpp:7: an II of 1 (carried dependence"), 0u);
  EXPECT_NEAR(time.advice[0].saves_us, 5 * 9'999 / 300.0, 0.1);
  kernel.loop().recurrences.clear();
  kernel.add_site(40'000, 10'000, false, 0, 10'000);
  time = kernel.time();
  ASSERT_FALSE(time.advice.empty());
  EXPECT_EQ(time.advice[0].text.find("port in: reads at consecutive addresses"), 0u);
  EXPECT_GT(time.advice[0].saves_us, 0.5 * time.kernel_us);
}

TEST(TimeEstimate, TellsChannelsAndOperations) {
  OneLoop kernel(10'000, 8);
  kernel.add_site(40'000, 10'000, false, 0);
  kernel.model.operations = {{1, 3}};
  kernel.loop().recurrences = {{6, 1, -1, true, "fadd", 9}};
  const RunTime time = kernel.time();
  ASSERT_EQ(time.channels.size(), 1u);
  EXPECT_EQ(time.channels[0].bank, "DDR[0]");
  EXPECT_EQ(time.channels[0].bytes, 40'000);
  EXPECT_NEAR(time.channels[0].busy_us, 40'000 / (19.25 * 0.939) / 1000, 1e-6);
  EXPECT_NEAR(time.channels[0].bandwidth_gb_per_s, 40 / time.kernel_us, 1e-6);
  EXPECT_EQ(time.channels[0].peak_gb_per_s, 19.25);
  EXPECT_EQ(time.operations, 30'000);
  EXPECT_NEAR(time.compute_us, 10'010 / 300.0, 0.1);
}

}  // namespace
}  // namespace tandem::timing
