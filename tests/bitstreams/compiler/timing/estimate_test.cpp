// SPDX-License-Identifier: Apache-2.0
//
// The modelled time: loops by their rules, ports and channels by public measurements.
#include "bitstreams/compiler/timing/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/bitstreams/compiler/timing/one_loop.h"

namespace tandem::timing {
namespace {

TEST(TimeEstimate, APipelinedLoopTakesDepthAndAnIntervalPerTrip) {
  OneLoop kernel(100, 5);
  // The function's own state first; four states enter and leave the loop's module and the loop.
  EXPECT_EQ(kernel.time().cycles, 1 + 4 + 5 + 99 - 1);
  EXPECT_EQ(kernel.time().loops.at(0).ii, 1);
  EXPECT_EQ(kernel.time().limit, "launch");
  kernel.loop().wanted_ii = 4;
  EXPECT_EQ(kernel.time().cycles, 1 + 4 + 5 + 4 * 99 - 1);
  EXPECT_NEAR(kernel.time().kernel_us, 405 / 300.0, 1e-9);
}

TEST(TimeEstimate, ADependenceSetsTheIntervalAndIsTheLimit) {
  OneLoop kernel(10'000, 8);
  kernel.loop().recurrences = {{6, 1, -1, true, "fadd", 9}};
  EXPECT_EQ(kernel.time().loops.at(0).ii, 6);
  EXPECT_EQ(kernel.time().limit, "loop k.cpp:7");
  EXPECT_NE(kernel.time().why.find("carried dependence through fadd, 6 cycles"), std::string::npos);
  kernel.loop().recurrences[0].distance = 4;
  EXPECT_EQ(kernel.time().loops.at(0).ii, 2);
  EXPECT_EQ(kernel.time().modelled_us_low, kernel.time().modelled_us_high);
}

TEST(TimeEstimate, WhatCannotBeKnownGivesARange) {
  OneLoop kernel(10'000, 8);
  kernel.loop().recurrences = {{3, 1, -1, false, "memory", 9}};
  RunTime time = kernel.time();
  EXPECT_NEAR(time.kernel_us, 3 * (time.modelled_us_low - time.launch_us), 0.1);
  ASSERT_EQ(time.unknown.size(), 1u);
  kernel.loop().recurrences.clear();
  kernel.model.unknown = {"helper"};
  time = kernel.time();
  EXPECT_EQ(time.unknown.at(0), "the latency of helper is not known");
  EXPECT_GT(time.modelled_us_high, time.modelled_us);
}

TEST(TimeEstimate, LocalMemoriesHaveTwoPortsPerBank) {
  OneLoop kernel(1000, 4);
  kernel.loop().arrays = {{"_ZZ1kE4sums", 5, 0, 1}};
  EXPECT_EQ(kernel.time().loops.at(0).ii, 3);
  EXPECT_EQ(kernel.time().loops.at(0).why, "5 accesses of 'sums' in 1 banks of 2 ports");
  kernel.loop().arrays[0].banks = 4;
  EXPECT_EQ(kernel.time().loops.at(0).ii, 1);
  kernel.loop().arrays[0].banks = 0;
  EXPECT_EQ(kernel.time().loops.at(0).ii, 1);
}

TEST(TimeEstimate, UnrollingDividesTheTripsAndMultipliesTheAccesses) {
  OneLoop kernel(1000, 4);
  kernel.loop().unroll = 4;
  EXPECT_EQ(kernel.time().cycles, 1 + 4 + 4 + 249 - 1);
  kernel.loop().arrays = {{"a", 4, 0, 0, 2}};
  EXPECT_EQ(kernel.time().loops.at(0).ii, 4);
  kernel.loop().arrays[0].banks = 1;  // Vitis partitions it by itself
  EXPECT_EQ(kernel.time().loops.at(0).ii, 1);
}

// The II of gesummv and mvt (HLSFactory, 90, 250 and 120 trips, additions of 6 cycles) but for one
// cycle: 23, 47, 47, 47, 239; 47; 59.
TEST(TimeEstimate, SumsInCopiesBehindAnEndInsideOfThemStayInOrder) {
  struct Synthesised {
    double trips;
    int unroll;
    double ii;
  };
  for (const Synthesised& each :
       {Synthesised{90, 4, 23}, Synthesised{90, 8, 47}, Synthesised{90, 16, 47},
        Synthesised{90, 32, 47}, Synthesised{90, 64, 239}, Synthesised{250, 128, 47},
        Synthesised{120, 16, 59}}) {
    OneLoop kernel(static_cast<std::uint64_t>(each.trips), 20);
    kernel.loop().recurrences = {{6, 1, -1, true, "fadd", 9}};
    kernel.loop().balanced = true;
    kernel.loop().fixed_trips = each.trips;
    kernel.loop().unroll = each.unroll;
    EXPECT_EQ(kernel.time().loops.at(0).ii, each.ii + 1) << each.unroll;
  }
  OneLoop whole(90, 20);
  whole.loop().recurrences = {{6, 1, -1, true, "fadd", 9}};
  whole.loop().balanced = true;
  whole.loop().fixed_trips = 90;
  whole.loop().unroll = 9;
  EXPECT_EQ(whole.time().loops.at(0).ii, 6);
  whole.loop().unroll = 128;  // no more copies than trips
  EXPECT_EQ(whole.time().loops.at(0).ii, 6);
  whole.loop().unroll = 0;
  EXPECT_EQ(whole.time().loops.at(0).ii, 6);
  whole.loop().unroll = 9;
  whole.loop().fixed_trips = 0;  // each copy may be the last
  EXPECT_EQ(whole.time().loops.at(0).ii, 54);
  whole.loop().fixed_trips = 91;  // one copy before the end has nothing to be added to
  EXPECT_EQ(whole.time().loops.at(0).ii, 54);
}

TEST(TimeEstimate, AnEntryEndsWithAWholeIterationOfItsCopies) {
  OneLoop kernel(1000, 4);
  kernel.counts.counters[2] = 100;  // ten trips an entry: three iterations of four copies
  const double before = kernel.time().cycles;
  kernel.loop().unroll = 4;
  EXPECT_EQ(before - kernel.time().cycles, 100 * (10 - 3));
}

TEST(TimeEstimate, EntriesOfDifferentTripsAreNotRounded) {
  OneLoop kernel(1000, 4);
  kernel.counts.counters[2] = 300;
  const double before = kernel.time().cycles;
  kernel.counts.counters[1] = 1007;
  EXPECT_EQ(kernel.time().cycles - before, 7);
}

// Three trips in eight copies call three runs side by side, which take as long as one.
TEST(TimeEstimate, CallsSideBySideAreNoMoreThanTheTrips) {
  OneLoop kernel(3, 4);
  FunctionModel helper = OneLoop(3000, 4).model.functions[0];
  helper.name = "helper";
  helper.entry = 3;
  helper.loops[0].header = 4;
  helper.loops[0].latches = {4};
  helper.loops[0].entries = 5;
  kernel.counts.counters.insert(kernel.counts.counters.end(), {3, 3000, 3});
  kernel.model.num_counters = 6;
  kernel.loop().pipeline = "off";
  kernel.model.functions[0].calls = {{"helper", 1, 0, false}};
  PhaseModel phase;
  phase.home = 0;
  phase.call = 0;
  kernel.model.functions[0].phases.push_back(phase);
  kernel.model.functions.insert(kernel.model.functions.begin(), helper);
  LoopModel& loop = kernel.model.functions[1].loops[0];
  loop.unroll = 8;
  const double unrolled = kernel.time().cycles;
  EXPECT_GT(unrolled, 1000);
  loop.unroll = 3;
  EXPECT_EQ(kernel.time().cycles, unrolled);
}

// axi_burst_performance, U200, 512-bit port, 16 MB, in GB/s of 1e9 bytes: 16.82 GiB/s read with
// bursts of 32 and more outstanding than needed, 11.79 GiB/s write with 4 of 16 beats.
TEST(TimeEstimate, ReadsReachWhatWasMeasuredOnDdr) {
  constexpr double kBytes = 16 << 20;
  OneLoop kernel(static_cast<std::uint64_t>(kBytes) / 64, 3);
  kernel.add_site(kBytes, static_cast<std::uint64_t>(kBytes) / 64, false, 0);
  const RunTime time = kernel.time();
  EXPECT_NEAR(time.ports.at(0).bandwidth_gb_per_s, 18.07, 18.07 * 0.02);
  EXPECT_EQ(time.limit, "channel DDR[0]");
  kernel.card.outstanding = 4;
  kernel.card.burst_beats = 4;
  EXPECT_NEAR(kernel.time().ports.at(0).bandwidth_gb_per_s, 3.930 * 1.0737, 0.25);
  kernel.card.burst_beats = 16;
  EXPECT_NEAR(kernel.time().ports.at(0).bandwidth_gb_per_s, 13.111 * 1.0737, 0.25);
}

TEST(TimeEstimate, WritesReachWhatWasMeasuredOnDdr) {
  constexpr double kBytes = 16 << 20;
  OneLoop kernel(static_cast<std::uint64_t>(kBytes) / 64, 3);
  kernel.add_site(kBytes, static_cast<std::uint64_t>(kBytes) / 64, true, 1 << 20);
  kernel.card.outstanding = 32;
  kernel.card.burst_beats = 4;
  EXPECT_NEAR(kernel.time().ports.at(0).bandwidth_gb_per_s, 8.940 * 1.0737, 0.2);
  kernel.card.burst_beats = 16;
  EXPECT_NEAR(kernel.time().ports.at(0).bandwidth_gb_per_s, 14.301 * 1.0737, 0.2);
}

// 07-using-hbm, U50: 64-byte transactions at random addresses of one pseudo channel: 4.754 GB/s.
TEST(TimeEstimate, RandomReadsReachWhatWasMeasuredOnHbm) {
  OneLoop kernel(100'000, 3);
  kernel.card.banks = {timed_bank("HBM[0]", 0, 1 << 28)};
  kernel.add_site(6'400'000, 100'000, false, 0, 100'000);
  const RunTime time = kernel.time();
  EXPECT_NEAR(time.ports.at(0).bandwidth_gb_per_s, 4.754, 0.1);
  EXPECT_EQ(time.limit, "port in");
  EXPECT_NE(time.why.find("addresses are not consecutive"), std::string::npos);
}

// 07-using-hbm, U50: random transactions over 2 and 4 pseudo channels, without RAMA.
TEST(TimeEstimate, ReadsThatChangeBetweenBanksWaitForTheOnesBefore) {
  struct Measured {
    double bytes, banks, gb_per_s;
  };
  for (const Measured& each :
       {Measured{64, 2, 0.761}, Measured{64, 4, 0.553}, Measured{256, 2, 2.711},
        Measured{1024, 2, 6.547}, Measured{1024, 4, 5.531}}) {
    constexpr std::uint64_t kTransactions = 100'000;
    const auto beats = static_cast<std::uint64_t>(each.bytes / 64);
    OneLoop kernel(kTransactions * beats, 3);
    kernel.card.banks = {timed_bank("HBM[0]", 0, 1 << 28)};
    kernel.add_site(each.bytes * kTransactions, kTransactions * beats, false, 0, kTransactions);
    kernel.counts.sites[0].hops =
        static_cast<std::uint64_t>(kTransactions * (each.banks - 1) / each.banks);
    const RunTime time = kernel.time();
    EXPECT_NEAR(time.ports.at(0).bandwidth_gb_per_s, each.gb_per_s, 0.15 * each.gb_per_s)
        << each.bytes << " bytes, " << each.banks << " banks";
    if (beats == 1) {
      EXPECT_NE(time.why.find("they change between banks"), std::string::npos);
    }
  }
}

TEST(TimeEstimate, RandomAccessesOfDdrHaveARange) {
  OneLoop kernel(100'000, 3);
  kernel.add_site(400'000, 100'000, false, 0, 100'000);
  const RunTime time = kernel.time();
  // 33 of 233 + 3 ns more per access, 16 of them at a time.
  EXPECT_NEAR(time.modelled_us_high - time.modelled_us, 100'000 * 0.033 / 16, 1);
  EXPECT_EQ(time.unknown.back(), "each access outside a burst may find its page closed");
  EXPECT_EQ(time.modelled_us_low, time.modelled_us);
  kernel.counts.sites[0].runs = 1;
  EXPECT_EQ(kernel.time().modelled_us_high, kernel.time().modelled_us);
}

// Eight copies of a body that each call a function of 5 cycles: one step, also for the replay.
TEST(TimeEstimate, CallsByCopiesOfABodyRunSideBySide) {
  OneLoop kernel(8, 2);
  kernel.loop().pipeline = "off";
  kernel.loop().unroll = 0;
  kernel.model.num_counters = 4;
  kernel.counts.counters = {1, 8, 1, 8};
  FunctionModel callee;
  callee.name = "f";
  callee.entry = 3;
  callee.depth = 5;
  callee.sites = {0};
  kernel.add_site(0, 0, false, 0);
  kernel.model.functions[0].sites.clear();
  kernel.model.functions[0].calls = {{"f", 1, 0, false}};
  kernel.model.functions.push_back(callee);
  const auto cost_of_callee = [&kernel] {
    for (const WorkCost& each :
         work_costs(kernel.model, kernel.counts, kernel.arguments, kernel.card)) {
      if (each.function == 1) return each.per_entry;
    }
    return 0.0;
  };
  PhaseModel call;
  call.home = 0;
  call.call = 0;
  kernel.model.functions[0].phases.push_back(call);
  EXPECT_EQ(cost_of_callee(), 5.0 / 8);
  kernel.loop().unroll = 1;
  EXPECT_EQ(cost_of_callee(), 5);
}

// Where the port is on the card is not known.
TEST(TimeEstimate, APortOfSeveralHbmBanksHasARange) {
  OneLoop kernel(100'000, 3);
  kernel.add_site(400'000, 100'000, false, 0, 100'000);
  kernel.card.banks = {timed_bank("HBM[0]", 0, 1 << 20), timed_bank("HBM[1]", 1 << 20, 1 << 20)};
  EXPECT_EQ(kernel.time().modelled_us_high, kernel.time().modelled_us);  // a port for each
  kernel.arguments[1].bundle = kernel.arguments[0].bundle;
  const RunTime time = kernel.time();
  // 139 ns more per access, 16 of them at a time, and once until the first value.
  EXPECT_NEAR(time.modelled_us_high - time.modelled_us, 100'000 * 0.139 / 16 + 0.139, 0.01);
  EXPECT_EQ(time.unknown.back(), "a port of several HBM banks is beside one of them at most");
  kernel.counts.sites[0].runs = 1;  // bursts hide it but for the first
  EXPECT_EQ(kernel.time().modelled_us_high, kernel.time().modelled_us);
  kernel.counts.sites[0].runs = 100'000;
  kernel.arguments[1].address = 1 << 19;  // both in one bank
  EXPECT_EQ(kernel.time().modelled_us_high, kernel.time().modelled_us);
  kernel.arguments[1].address = 1 << 20;
  kernel.card.banks = {timed_bank("PLRAM[0]", 0, 1 << 20),
                       timed_bank("PLRAM[1]", 1 << 20, 1 << 20)};
  EXPECT_EQ(kernel.time().modelled_us_high, kernel.time().modelled_us);
}

TEST(TimeEstimate, TwoArgumentsOfOneBundleHaveNoBursts) {
  OneLoop kernel(10'000, 3);
  kernel.arguments = {{"a", "gmem", 0}, {"b", "gmem", 1 << 20}};
  kernel.add_site(40'000, 10'000, false, 0);
  const double alone = kernel.time().cycles;
  kernel.add_site(40'000, 10'000, false, 1 << 20);
  const RunTime shared = kernel.time();
  EXPECT_GT(shared.cycles, 5 * alone);
  EXPECT_NE(shared.why.find("another access of the loop uses bundle gmem"), std::string::npos);
  kernel.arguments[1].bundle = "other";
  EXPECT_NEAR(kernel.time().cycles, alone, 1);
}

TEST(TimeEstimate, AConditionalAccessHasNoBursts) {
  OneLoop kernel(10'000, 3);
  kernel.add_site(20'000, 5'000, false, 0);
  kernel.model.sites[0].block = 3;
  kernel.counts.counters.push_back(5'000);
  EXPECT_NE(kernel.time().why.find("the access is conditional"), std::string::npos);
}

TEST(TimeEstimate, ProcessesOverlapWhenStreamsJoinThem) {
  OneLoop slow(1000, 5);
  FunctionModel process = slow.model.functions[0];
  process.streams = true;
  KernelModel model;
  model.kernel = "k";
  FunctionModel region;
  region.name = "k";
  RunCounts counts;
  counts.counters = {1};
  for (const std::uint64_t trips : {1000, 4000, 1000}) {
    FunctionModel each = process;
    each.name = "p" + std::to_string(model.functions.size());
    const int first = static_cast<int>(counts.counters.size());
    each.entry = first;
    each.loops[0].header = first + 1;
    each.loops[0].latches = {first + 1};
    each.loops[0].entries = first + 2;
    counts.counters.insert(counts.counters.end(), {1, trips, 1});
    region.calls.push_back({each.name, 0, -1, true});
    PhaseModel phase;
    phase.call = static_cast<int>(region.phases.size());
    if (phase.call > 0) phase.after = {phase.call - 1};
    region.phases.push_back(phase);
    model.functions.push_back(each);
  }
  model.functions.push_back(region);
  const double overlapped = estimate(model, counts, {}, slow.card).cycles;
  EXPECT_NEAR(overlapped, 4000 + 3 * 6, 6);
  for (FunctionModel& each : model.functions) each.streams = false;
  EXPECT_NEAR(estimate(model, counts, {}, slow.card).cycles, 6000 + 3 * 10, 6);
}

TEST(TimeEstimate, StepsThatNeedNothingOfEachOtherRunAtTheSameTime) {
  OneLoop kernel(1000, 5);
  FunctionModel& function = kernel.model.functions[0];
  function.loops.push_back(function.loops[0]);
  PhaseModel phase;
  phase.loop = 1;
  function.phases.push_back(phase);
  const double together = kernel.time().cycles;
  function.phases[1].after = {0};
  EXPECT_NEAR(kernel.time().cycles, 2 * together, 2);
}

TEST(TimeEstimate, ReadsThatAllIterationsShareCountOncePerEntry) {
  OneLoop kernel(1000, 5);
  LoopModel inner = kernel.loop();
  inner.parent = 0;
  inner.pipeline = "";
  inner.header = 3;
  inner.latches = {3};
  inner.entries = 4;
  inner.arrays = {{"a", 0, 0, 1, 1}};
  kernel.model.functions[0].loops.push_back(inner);
  kernel.counts.counters.insert(kernel.counts.counters.end(), {8000, 1000});
  const double shared = kernel.time().cycles;
  kernel.model.functions[0].loops[1].arrays.clear();
  EXPECT_EQ(shared, kernel.time().cycles + 4);  // eight reads by two ports
}

TEST(TimeEstimate, ADependenceThroughDeviceMemoryWaitsForItsPort) {
  OneLoop kernel(1000, 5);
  kernel.add_site(64'000, 1000, false, 0);
  kernel.loop().recurrences = {{2, 1, -1, true, "load", 9, 1}};
  EXPECT_EQ(kernel.time().loops.at(0).ii, std::ceil(2 + 0.233 * 300 + 8));
}

TEST(TimeEstimate, AFunctionThatCallsItselfHasATime) {
  OneLoop kernel(100, 5);
  FunctionModel& function = kernel.model.functions[0];
  function.calls = {{"k", 0, -1, false}};
  PhaseModel phase;
  phase.call = 0;
  function.phases.push_back(phase);
  EXPECT_GT(kernel.time().cycles, 100);
}

TEST(TimeCounts, RunsOfAddressesAreCounted) {
  SiteRecord record;
  for (const std::uint64_t at : {0u, 4u, 8u, 100u, 104u, 4096u}) {
    note_access(record, 0x1000 + at, 4, 0x1000, 1 << 20);
  }
  EXPECT_EQ(record.accesses, 6u);
  EXPECT_EQ(record.bytes, 24u);
  EXPECT_EQ(record.runs, 3u);
  EXPECT_EQ(record.first, 1u);
  SiteRecord banked;
  for (const std::uint64_t at : {0u, 60u, 64u, 68u, 0u, 124u, 128u}) {
    note_access(banked, 0x1000 + at, 4, 0x1000, 1 << 20, 6);
  }
  EXPECT_EQ(banked.hops, 4u);
  EXPECT_EQ(record.hops, 0u);
  note_access(record, 0x10, 4, 0x1000, 1 << 20);  // local memory
  EXPECT_EQ(record.accesses, 6u);
  EXPECT_EQ(record.others, 1u);
}

}  // namespace
}  // namespace tandem::timing
