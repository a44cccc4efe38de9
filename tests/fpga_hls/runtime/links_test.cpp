// SPDX-License-Identifier: Apache-2.0
//
// Streams between units on two threads: order, idle units, back-pressure, and deadlocks of several
// units.
#include <gtest/gtest.h>

#include <vector>

#include "hls_stream.h"
#include "unit.h"

namespace tandem::hls_runtime_test {
namespace {

constexpr int kCount = 200000;

TEST(Link, CarriesAllValuesInOrder) {
  UnitGroup group;
  Unit writer("writer_1", &group), reader("reader_1", &group);
  hls::stream<int> wide("wide");
  hls::stream<int, 4> narrow("narrow");
  for (hls::stream<int>* stream : {&wide, static_cast<hls::stream<int>*>(&narrow)}) {
    const int count = stream == &wide ? kCount : kCount / 10;
    link(*stream, writer, reader);
    int wrong = 0;
    auto written = writer.start([&] {
      for (int i = 0; i < count; ++i) stream->write(i);
    });
    auto read = reader.start([&] {
      for (int i = 0; i < count; ++i) wrong += stream->read() == i ? 0 : 1;
    });
    EXPECT_EQ(written.get().end, End::kDone);
    EXPECT_EQ(read.get().end, End::kDone);
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Link, HasNoDefaultDepthBecauseItsUnitsMayRunInTurns) {
  UnitGroup group;
  Unit writer("writer_1", &group, false, 1 << 24, true), reader("reader_1", &group);
  hls::stream<int> stream("stream");
  link(stream, writer, reader);
  const Outcome written = writer.run([&] {
    Region region;
    region.start("give", [&] {
      for (int i = 0; i < 100; ++i) stream.write(i);
    });
    region.join();
  });
  EXPECT_EQ(written.end, End::kDone);
  EXPECT_EQ(stream.capacity(), 0u);
  EXPECT_EQ(reader
                .run([&] {
                  for (int i = 0; i < 100; ++i) EXPECT_EQ(stream.read(), i);
                })
                .end,
            End::kDone);
}

// On a busy machine a unit may wait for a processor for long.
TEST(Link, OfAUnitThatCanGoOnNoWaitsAreTold) {
  UnitGroup group;
  hls_runtime::UnitSettings settings;
  settings.group = &group;
  Scheduler unit(settings);
  tandem_hls::Channel values("values"), others("others");
  hls_runtime::Rest rest{
      {{{&values, tandem_hls::kReader}, "first"}, {{&others, tandem_hls::kReader}, "second"}},
      false,
      true};
  group.publish(unit, rest);
  EXPECT_EQ(group.waits_of(unit).size(), 2u);
  others.written.store(1);
  EXPECT_TRUE(group.waits_of(unit).empty());
  others.read.store(1);
  EXPECT_EQ(group.waits_of(unit).size(), 2u);
  group.withdraw(unit);
}

TEST(Link, GoesBackAndForthBetweenUnits) {
  UnitGroup group;
  Unit left("left_1", &group), right("right_1", &group);
  hls::stream<int, 2> forth("forth"), back("back");
  link(forth, left, right);
  link(back, right, left);
  int last = 0;
  auto ping = left.start([&] {
    for (int i = 0; i < 2000; ++i) {
      forth.write(last);
      last = back.read();
    }
  });
  auto pong = right.start([&] {
    for (int i = 0; i < 2000; ++i) back.write(forth.read() + 1);
  });
  EXPECT_EQ(ping.get().end, End::kDone);
  EXPECT_EQ(pong.get().end, End::kDone);
  EXPECT_EQ(last, 2000);
}

// The host may start the reader once the writer is done.
TEST(Link, TakesWhatAWriterHasBeforeItsReaderRuns) {
  UnitGroup group;
  Unit writer("writer_1", &group), reader("reader_1", &group);
  hls::stream<int, 4> stream("stream");
  link(stream, writer, reader);
  int sum = 0;
  EXPECT_EQ(writer
                .run([&] {
                  for (int i = 0; i < 1000; ++i) stream.write(i);
                })
                .end,
            End::kDone);
  EXPECT_EQ(stream.size(), 1000u);
  EXPECT_EQ(reader
                .run([&] {
                  for (int i = 0; i < 1000; ++i) sum += stream.read();
                })
                .end,
            End::kDone);
  EXPECT_EQ(sum, 499500);
}

TEST(Link, HoldsBackAFreeRunningWriter) {
  UnitGroup group;
  Unit writer("writer_1", &group, true), reader("reader_1", &group);
  hls::stream<int, 8> stream("stream");
  link(stream, writer, reader);
  auto written = writer.start([&] {
    for (int i = 0;; ++i) stream.write(i);
  });
  while (!writer.scheduler().asleep()) std::this_thread::yield();
  EXPECT_EQ(stream.size(), 8u);
  int sum = 0;
  EXPECT_EQ(reader
                .run([&] {
                  for (int i = 0; i < 1000; ++i) sum += stream.read();
                })
                .end,
            End::kDone);
  EXPECT_EQ(sum, 499500);
  writer.scheduler().stop();
  EXPECT_EQ(written.get().end, End::kStopped);
}

TEST(Link, DeadlocksOfTwoUnitsEndBothCommands) {
  UnitGroup group;
  Unit left("left_1", &group), right("right_1", &group);
  hls::stream<int> forth("forth"), back("back");
  link(forth, left, right);
  link(back, right, left);
  auto first = left.start([&] { forth.write(back.read()); });
  auto second = right.start([&] { back.write(forth.read()); });
  for (auto* future : {&first, &second}) {
    const Outcome outcome = future->get();
    EXPECT_EQ(outcome.end, End::kDeadlock);
    EXPECT_NE(
        outcome.message.find("unit 'left_1': process 'left_1' waits for data in stream 'back'"),
        std::string::npos)
        << outcome.message;
    EXPECT_NE(outcome.message.find("'right_1' waits for data in stream 'forth'"),
              std::string::npos);
  }
}

TEST(Link, GrowsWhenUnitsWaitForEachOthersSpace) {
  UnitGroup group;
  Unit left("left_1", &group), right("right_1", &group);
  hls::stream<int, 2> forth("forth"), back("back");
  link(forth, left, right);
  link(back, right, left);
  const auto exchange = [](hls::stream<int>& out, hls::stream<int>& in) {
    for (int i = 0; i < 500; ++i) out.write(i);
    int sum = 0;
    for (int i = 0; i < 500; ++i) sum += in.read();
    EXPECT_EQ(sum, 124750);
  };
  auto first = left.start([&] { exchange(forth, back); });
  auto second = right.start([&] { exchange(back, forth); });
  EXPECT_EQ(first.get().end, End::kDone);
  EXPECT_EQ(second.get().end, End::kDone);
}

// Its other end has no command: the host may still give it one.
TEST(Link, ToAnIdleUnitIsNoDeadlock) {
  UnitGroup group;
  Unit reader("reader_1", &group), writer("writer_1", &group);
  hls::stream<int> stream("stream");
  link(stream, writer, reader);
  int value = 0;
  auto read = reader.start([&] { value = stream.read(); });
  while (!reader.scheduler().asleep()) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(writer.run([&] { stream.write(7); }).end, End::kDone);
  EXPECT_EQ(read.get().end, End::kDone);
  EXPECT_EQ(value, 7);
}

TEST(Link, PassesThroughAFreeRunningUnitCalledForEachValue) {
  UnitGroup group;
  Unit source("source_1", &group), middle("middle_1", &group, true), sink("sink_1", &group);
  hls::stream<int> in("in"), out("out");
  link(in, source, middle);
  link(out, middle, sink);
  std::thread free([&] {
    Scheduler& unit = middle.scheduler();
    unit.adopt_thread();
    struct Ends {
      hls::stream<int>&in, &out;
    } ends{in, out};
    while (unit.run(
               [](void* argument) {
                 Ends& ends = *static_cast<Ends*>(argument);
                 ends.out.write(ends.in.read() + 1);
               },
               &ends) == End::kDone) {
    }
    unit.leave_thread();
  });
  long sum = 0;
  auto read = sink.start([&] {
    for (int i = 0; i < kCount; ++i) sum += out.read();
  });
  auto written = source.start([&] {
    for (int i = 0; i < kCount; ++i) in.write(i);
  });
  EXPECT_EQ(written.get().end, End::kDone);
  EXPECT_EQ(read.get().end, End::kDone);
  EXPECT_EQ(sum, kCount + static_cast<long>(kCount) * (kCount - 1) / 2);
  middle.scheduler().stop();
  free.join();
}

}  // namespace
}  // namespace tandem::hls_runtime_test
