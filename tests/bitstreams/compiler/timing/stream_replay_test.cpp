// SPDX-License-Identifier: Apache-2.0
//
// Who waits for whom, in small designs whose cycles follow by hand.
#include "bitstreams/compiler/timing/stream_replay.h"

#include <gtest/gtest.h>

#include "bitstreams/compiler/timing/stream_events.h"

namespace tandem::timing {
namespace {

ReplayedStream stream_of(const std::string& name, double depth) {
  ReplayedStream stream;
  stream.name = name;
  stream.depth = depth;
  return stream;
}

// A process that makes `values`, one per `interval`, and one that takes them.
StreamTimes pipe(bool bounded, double depth, int values, double make, double take) {
  StreamReplay replay(bounded);
  const int stream = replay.add_stream(stream_of("s", depth));
  const int maker = replay.add_process("maker", 0, 0, 5, {});
  const int taker = replay.add_process("taker", 0, 0, 5, {});
  for (int value = 0; value < values; ++value) {
    replay.access(maker, stream, true, value == 0 ? 0 : make);
    replay.access(taker, stream, false, value == 0 ? 0 : take);
  }
  replay.end(maker, 0);
  replay.end(taker, 0);
  replay.join(0, 0);
  return replay.finish();
}

TEST(StreamReplay, AReaderWaitsForEachValue) {
  const StreamTimes times = pipe(true, 2, 100, 3, 1);
  // The last value comes after 99 intervals, and is read a cycle later.
  EXPECT_EQ(times.regions.at(5), 99 * 3 + 1);
  EXPECT_EQ(times.streams.at(0).values, 100);
  EXPECT_EQ(times.streams.at(0).full_cycles, 0);
  EXPECT_EQ(times.streams.at(0).empty_cycles, 1 + 99 * 2);
  EXPECT_EQ(times.processes.at(0).name, "maker");
  EXPECT_EQ(times.processes.at(0).end, 99 * 3);
  EXPECT_EQ(times.processes.at(1).waits, 1 + 99 * 2);
}

TEST(StreamReplay, AWriterWaitsForARoomThatIsFreed) {
  const StreamTimes times = pipe(true, 2, 100, 1, 4);
  EXPECT_EQ(times.regions.at(5), 1 + 99 * 4);
  // Value k is written a cycle after value k - 2 is read, so the writer ends long after 99 cycles.
  EXPECT_EQ(times.processes.at(0).end, 1 + 97 * 4 + 1);
  EXPECT_EQ(times.streams.at(0).full_cycles, times.processes.at(0).waits);
  EXPECT_GT(times.streams.at(0).full_cycles, 200);
  // Without a depth the writer never waits, and the stream holds what the reader has not taken.
  const StreamTimes free = pipe(false, 2, 100, 1, 4);
  EXPECT_EQ(free.regions.at(5), 1 + 99 * 4);
  EXPECT_EQ(free.processes.at(0).end, 99);
  EXPECT_EQ(free.streams.at(0).full_cycles, 0);
  EXPECT_NEAR(free.streams.at(0).most, 75, 1);
}

TEST(StreamReplay, KeepsWhenValuesCameAndWentForWaveforms) {
  StreamReplay replay(true);
  replay.record_waves();
  const int stream = replay.add_stream(stream_of("s", 2));
  const int maker = replay.add_process("maker", 0, 0, 5, {});
  const int taker = replay.add_process("taker", 0, 0, 5, {});
  for (int value = 0; value < 4; ++value) {
    replay.access(maker, stream, true, value == 0 ? 0 : 1);
    replay.access(taker, stream, false, value == 0 ? 0 : 4);
  }
  replay.end(maker, 0);
  replay.end(taker, 0);
  replay.join(0, 0);
  const StreamTimes times = replay.finish();
  ASSERT_EQ(times.waves.size(), 1u);
  EXPECT_EQ(times.waves[0].reads, (std::vector<double>{1, 5, 9, 13}));
  EXPECT_EQ(times.waves[0].writes, (std::vector<double>{0, 1, 2, 6}));
  using Spans = std::vector<std::pair<double, double>>;
  EXPECT_EQ(times.processes.at(0).waiting, (Spans{{3, 6}}));
  EXPECT_EQ(times.processes.at(1).waiting, (Spans{{0, 1}}));
  EXPECT_EQ(times.waves_end, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(pipe(true, 2, 4, 1, 4).waves.empty());
}

TEST(StreamReplay, WavesEndWhereTheyBecomeTooLong) {
  StreamReplay replay(true);
  replay.record_waves();
  const int stream = replay.add_stream(stream_of("s", 2));
  const int both = replay.add_process("both", 0, 0, 5, {});
  constexpr int kValues = static_cast<int>(kMostWaved / 2) + 100;
  for (int value = 0; value < kValues; ++value) {
    replay.access(both, stream, true, 1);
    replay.access(both, stream, false, 1);
    if (value % 4096 == 0) replay.advance();
  }
  replay.end(both, 0);
  replay.join(0, 0);
  const StreamTimes times = replay.finish();
  EXPECT_EQ(times.waves[0].writes.size() + times.waves[0].reads.size(), kMostWaved);
  EXPECT_GE(times.waves_end, std::max(times.waves[0].writes.back(), times.waves[0].reads.back()));
  EXPECT_LE(times.waves_end, times.waves[0].reads.back() + 2);
}

TEST(StreamReplay, ADeepStreamTakesACycleMore) {
  EXPECT_EQ(pipe(true, 2, 1, 1, 1).regions.at(5), 1);
  EXPECT_EQ(pipe(true, 3, 1, 1, 1).regions.at(5), 2);
}

TEST(StreamReplay, OneValuePerCycleEntersAStream) {
  const StreamTimes times = pipe(true, 16, 10, 0, 0);
  EXPECT_EQ(times.regions.at(5), 2 + 9);
  EXPECT_EQ(times.processes.at(0).end, 9);
}

// One process writes `a` at once and `b` after 40 cycles in a pipeline; the other needs both.
double fork_and_join(double depth) {
  StreamReplay replay(true);
  const int a = replay.add_stream(stream_of("a", depth));
  const int slow = replay.add_stream(stream_of("slow", 2));
  const int b = replay.add_stream(stream_of("b", 2));
  const int fork = replay.add_process("fork", 0, 0, 1, {});
  const int pass = replay.add_process("pass", 0, 0, 1, {});
  const int join = replay.add_process("join", 0, 0, 1, {});
  for (int value = 0; value < 1000; ++value) {
    replay.access(fork, slow, true, value == 0 ? 0 : 1);
    replay.access(fork, a, true, 0);
    replay.access(pass, slow, false, value == 0 ? 0 : 1 - 40);
    replay.access(pass, b, true, 40);
    replay.access(join, b, false, value == 0 ? 0 : 1);
    replay.access(join, a, false, 0);
  }
  for (const int process : {fork, pass, join}) replay.end(process, 0);
  replay.join(0, 0);
  return replay.finish().regions.at(1);
}

TEST(StreamReplay, AShallowStreamBesideALongPipelineHoldsAllUp) {
  EXPECT_NEAR(fork_and_join(64), 1000 + 42, 3);
  // Two values wait in `a` and the third in the pipeline, for about 44 cycles.
  EXPECT_NEAR(fork_and_join(2), 1000 * 44 / 3, 50);
  EXPECT_LT(fork_and_join(16), fork_and_join(8));
}

TEST(StreamReplay, ADesignThatStandsStillNamesItsStream) {
  StreamReplay replay(true);
  const int a = replay.add_stream(stream_of("a", 2));
  const int b = replay.add_stream(stream_of("b", 2));
  const int maker = replay.add_process("maker", 0, 0, 1, {});
  const int taker = replay.add_process("taker", 0, 0, 1, {});
  for (const int stream : {a, b}) {
    for (int value = 0; value < 8; ++value) replay.access(maker, stream, true, 1);
  }
  for (int value = 0; value < 8; ++value) {
    replay.access(taker, b, false, 1);
    replay.access(taker, a, false, 1);
  }
  replay.end(maker, 0);
  replay.end(taker, 0);
  replay.join(0, 0);
  const StreamTimes times = replay.finish();
  EXPECT_TRUE(times.streams.at(0).stuck);
  EXPECT_FALSE(times.streams.at(1).stuck);
  EXPECT_GT(times.regions.at(1), 16);
}

// The run's own order lets a process write all its values before another reads the first one.
TEST(StreamReplay, TooManyAccessesThatWaitAreNoStandstill) {
  StreamReplay replay(true, 16);
  const int stream = replay.add_stream(stream_of("s", 2));
  const int maker = replay.add_process("maker", 0, 0, 1, {});
  const int taker = replay.add_process("taker", 0, 0, 1, {});
  for (int value = 0; value < 64; ++value) {
    replay.access(maker, stream, true, 1);
    replay.advance();
  }
  for (int value = 0; value < 64; ++value) replay.access(taker, stream, false, 4);
  replay.end(maker, 0);
  replay.end(taker, 0);
  replay.join(0, 0);
  const StreamTimes times = replay.finish();
  EXPECT_FALSE(times.streams.at(0).stuck);
  EXPECT_TRUE(times.streams.at(0).uncounted);
  EXPECT_NEAR(times.regions.at(1), 64 * 4, 8) << "its reader decides";
  EXPECT_FALSE(pipe(true, 2, 64, 1, 4).streams.at(0).uncounted);
}

TEST(StreamReplay, AProcessBeginsAfterThoseItIsBehind) {
  StreamReplay replay(true);
  const int first = replay.add_process("first", 0, 0, 1, {});
  const int second = replay.add_process("second", 0, 0, 1, {first});
  replay.end(first, 30);
  replay.end(second, 12);
  replay.join(0, 0);
  const StreamTimes times = replay.finish();
  EXPECT_EQ(times.processes.at(1).start, 30);
  EXPECT_EQ(times.regions.at(1), 42);
}

TEST(StreamReplay, PassesOfARegionAddUpAndInnerRegionsDelayTheirParent) {
  StreamReplay replay(true);
  for (int pass = 0; pass < 3; ++pass) {
    const int outer = replay.add_process("outer", 0, 100, 7, {});
    const int inner = replay.add_process("inner", outer, 5, 8, {});
    replay.end(inner, 20);
    replay.join(outer, 1);
    replay.end(outer, 2);
    replay.join(0, 0);
    replay.advance();
  }
  const StreamTimes times = replay.finish();
  EXPECT_EQ(times.regions.size(), 1u);
  EXPECT_EQ(times.regions.at(7), 3 * (5 + 20 + 2));
}

TEST(StreamReplay, AReplayInPartsGivesTheSame) {
  StreamReplay replay(true);
  const int stream = replay.add_stream(stream_of("s", 4));
  const int maker = replay.add_process("maker", 0, 0, 5, {});
  const int taker = replay.add_process("taker", 0, 0, 5, {});
  for (int value = 0; value < 100; ++value) {
    replay.access(maker, stream, true, value == 0 ? 0 : 1);
    if (value % 7 == 0) replay.advance();
  }
  for (int value = 0; value < 100; ++value) {
    replay.access(taker, stream, false, value == 0 ? 0 : 4);
    if (value % 5 == 0) replay.advance();
  }
  replay.end(maker, 0);
  replay.end(taker, 0);
  replay.join(0, 0);
  const StreamTimes whole = pipe(true, 4, 100, 1, 4), parts = replay.finish();
  EXPECT_EQ(parts.regions, whole.regions);
  EXPECT_EQ(parts.streams.at(0).full_cycles, whole.streams.at(0).full_cycles);
}

TEST(StreamReplay, AReadThatNothingComesForEndsNothing) {
  StreamReplay replay(true);
  const int stream = replay.add_stream(stream_of("s", 2));
  const int taker = replay.add_process("taker", 0, 0, 1, {});
  replay.access(taker, stream, false, 10);
  replay.end(taker, 5);
  replay.join(0, 0);
  EXPECT_EQ(replay.finish().regions.at(1), 15);
}

// Two instances of one function, whose counters are the same, and which take turns.
TEST(StreamEvents, EachProcessIsChargedWithItsOwnCounts) {
  KernelModel model;
  FunctionModel function;
  LoopModel loop;
  loop.header = 1;
  loop.entries = 2;
  function.loops = {loop};
  model.functions = {function};
  model.num_counters = 3;
  model.points = {{0, 0, true, 0}, {0, 0, false, 3}};
  std::uint64_t counters[3] = {};
  WorkCost cost;
  cost.loop = cost.outer = 0;
  cost.per_trip = 10;
  cost.per_entry = 100;
  cost.prologue = 7;
  StreamEvents events(model, counters, [cost] { return std::vector<WorkCost>{cost}; });
  const int stream = events.add_stream(stream_of("s", 8));
  events.region(0);
  const auto trip = [&](int point) {
    ++counters[1];
    events.access(stream, point);
  };
  events.started(2, "maker", {});
  events.switched(1, 2);
  ++counters[2];
  trip(0);
  trip(0);
  events.switched(2, 1);
  events.started(3, "taker", {});
  events.switched(1, 3);
  ++counters[2];
  trip(1);
  events.switched(3, 2);
  trip(0);
  events.ended(2);
  events.switched(2, 3);
  trip(1);
  trip(1);
  events.ended(3);
  events.switched(3, 1);
  events.joined();
  const StreamTimes times = events.finish().bounded;
  // The maker: its loop's prologue, two intervals between three values, then the rest of an entry.
  EXPECT_EQ(times.processes.at(0).end, 2 * 10 + 100);
  EXPECT_EQ(times.processes.at(0).waits, 0);
  // The taker reads each value at cycle 3 of its iteration, when it has come.
  EXPECT_EQ(times.processes.at(1).end, 2 * 10 + 100);
  EXPECT_EQ(times.regions.at(0), 120);
}

}  // namespace
}  // namespace tandem::timing
