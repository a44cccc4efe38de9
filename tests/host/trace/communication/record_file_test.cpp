// SPDX-License-Identifier: Apache-2.0
//
// What a recorder writes is what the reader adds; lines that do not fit are named.
#include "trace/communication/record_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <thread>
#include <vector>

#include "common/error.h"
#include "support/scratch_path.h"
#include "trace/communication/recorder.h"
#include "trace/communication/traffic_report.h"

namespace tandem::trace {
namespace {

double no_time() { return 0; }

std::string written_by(const TrafficRecorder& recorder, const RecordIdentity& identity) {
  const test::ScratchPath path("rank.record");
  EXPECT_TRUE(recorder.write(path.string(), identity));
  std::ifstream file(path.path());
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string record_error(const std::string& text) {
  Traffic traffic;
  try {
    read_record(text, "rank.record", traffic);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TrafficRecorder, ModelledAndCarriedCallsAreInNoSum) {
  TrafficRecorder recorder(0, 0, no_time);
  recorder.add_modelled({"tandem_inproc", "allreduce.dense_ring", 0, 1, 100, 2});
  recorder.add_carried({"tandem_inproc", "allreduce.dense_ring", 0, 1, 148, 2});
  recorder.add({"tandem_inproc", "ring all-gather", 0, 1, 148, 2});
  Traffic traffic;
  read_record(written_by(recorder, {0, 2, "node-1", "ring"}), "a", traffic);
  EXPECT_EQ(traffic.matrix().bytes(0, 1), 148u);
  EXPECT_EQ(traffic.operations(), std::set<std::string>{"ring_all-gather"});
  EXPECT_EQ(traffic.algorithms(), std::set<std::string>{"allreduce.dense_ring"});
  const auto bytes_of = [&](CallSide side) {
    return traffic.call_matrix(side, "allreduce.dense_ring").bytes(0, 1);
  };
  EXPECT_EQ(bytes_of(CallSide::kModelled), 100u);
  EXPECT_EQ(bytes_of(CallSide::kCarried), 148u);
}

TEST(RecordFile, PartiesMayBeCards) {
  Traffic traffic;
  read_record(
      "tandem-communication 1\ncards 2 on node\ncell -2 1 xrt_host_to_device copy 0 0 64 1\nend\n",
      "a", traffic);
  EXPECT_EQ(traffic.labels(), (std::vector<std::string>{"host", "card 0", "card 1"}));
  EXPECT_EQ(traffic.matrix().bytes(0, 2), 64u);
  EXPECT_TRUE(traffic.missing_ranks().empty());
  read_record("tandem-communication 1\nrank 0 of 2 on node\nend\n", "b", traffic);
  EXPECT_EQ(traffic.labels().back(), "card or rank 1");
  EXPECT_THAT(record_error("tandem-communication 1\ncards 5000 on node\n"),
              testing::HasSubstr("rank.record line 2: 5000 cards are impossible"));
}

TEST(TrafficRecorder, WhatItWritesIsWhatTheReaderAdds) {
  TrafficRecorder recorder(0, 0, no_time);
  recorder.add({"mpi_point_to_point", "send", 0, 2, 100, 1});
  recorder.add({"mpi_point_to_point", "send", 0, 2, 11, 2});
  recorder.add({"mpi_collective", "allreduce", kSwitchRank, 0, 40, 1});
  recorder.add_counted({"transport", "E", 0, 2, 120, 3});
  recorder.add_unmodelled("neighbor_alltoall");
  Traffic traffic;
  read_record(written_by(recorder, {0, 3, "node-1", "nvls"}), "a", traffic);
  EXPECT_EQ(traffic.matrix().bytes(0, 2), 111u);
  EXPECT_EQ(traffic.matrix().messages(0, 2), 3u);
  EXPECT_EQ(traffic.matrix().bytes(3, 0), 40u);  // from the switch
  EXPECT_EQ(traffic.counted_matrix().bytes(0, 2), 120u);
  EXPECT_EQ(traffic.unmodelled().at("neighbor_alltoall"), 1u);
  EXPECT_EQ(traffic.model(), "nvls");
  EXPECT_EQ(traffic.missing_ranks(), (std::vector<int>{1, 2}));
  EXPECT_EQ(traffic.hosts().front(), "node-1");
}

TEST(TrafficRecorder, PhasesAndWindowsPartWhatIsSent) {
  double now = 10;
  TrafficRecorder recorder(10, 0.5, [&now] { return now; });
  recorder.add({"k", "send", 0, 1, 1, 1});
  now = 11.2;
  recorder.set_phase(3);
  recorder.add({"k", "send", 0, 1, 10, 1});
  recorder.set_paused(true);
  recorder.add({"k", "send", 0, 1, 100, 1});
  recorder.add_unmodelled("x");
  recorder.set_paused(false);
  Traffic traffic;
  read_record(written_by(recorder, {0, 2, "n", "ring"}), "a", traffic);
  EXPECT_EQ(traffic.matrix().bytes(0, 1), 11u);
  EXPECT_EQ(traffic.phases(), (std::set<std::string>{"0", "3"}));
  EXPECT_EQ(traffic.windows(), (std::set<int>{0, 2}));
  EXPECT_EQ(traffic.window_s(), 0.5);
  EXPECT_NE(traffic_json(traffic).find("\"by_window\""), std::string::npos);
  EXPECT_TRUE(traffic.unmodelled().empty());
}

TEST(TrafficRecorder, APhaseOfItsOwnGoesBeforeThatOfTheRecorder) {
  TrafficRecorder recorder(0, 0, no_time);
  recorder.set_phase(2);
  recorder.add({"k", "allreduce", 0, 1, 10, 1, "ring all-gather"});
  recorder.add({"k", "allreduce", 0, 1, 5, 1, "ring reduce-scatter"});
  recorder.add({"k", "send", 0, 1, 1, 1});
  Traffic traffic;
  read_record(written_by(recorder, {0, 2, "n", "ring"}), "a", traffic);
  EXPECT_EQ(traffic.phases(),
            (std::set<std::string>{"2", "ring_all-gather", "ring_reduce-scatter"}));
  EXPECT_EQ(traffic.operations(), (std::set<std::string>{"allreduce", "send"}));
  const auto matrix =
      traffic.matrix([](const TrafficKey& key) { return key.phase == "ring_all-gather"; });
  EXPECT_EQ(matrix.bytes(0, 1), 10u);
}

TEST(TrafficRecorder, TheFirstEventsAreKeptAndTheSumsHaveAll) {
  double now = 100;
  TrafficRecorder recorder(
      100, 0, [&now] { return now; }, 2);
  recorder.add_at({"k", "copy", 1, 0, 8, 1}, 100.25);  // it began before now
  now = 100.125;
  recorder.add({"k", "send", 0, 1, 10, 3, "header exchange"});
  recorder.add_counted({"transport", "E", 0, 1, 99, 1});  // compared, so no event
  recorder.add({"k", "send", 0, 1, 100, 1});
  recorder.add({"k", "send", 0, 1, 100, 1});
  Traffic traffic;
  traffic.set_keeps_events(true);
  read_record(written_by(recorder, {0, 2, "n", "ring"}), "a", traffic);
  EXPECT_EQ(traffic.matrix().bytes(0, 1), 210u);
  EXPECT_EQ(traffic.dropped_events(), 2u);
  const std::vector<TrafficEvent> events = traffic.events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_DOUBLE_EQ(events[0].time_s, 0.125);
  EXPECT_EQ(events[0].key.phase, "header_exchange");
  EXPECT_EQ(events[0].key.operation, "send");
  EXPECT_EQ(events[0].volume, (TrafficVolume{10, 3}));
  EXPECT_DOUBLE_EQ(events[1].time_s, 0.25);
  EXPECT_EQ(events[1].key.source, 1);
}

TEST(TrafficRecorder, WithoutEventsNothingIsKeptOrDropped) {
  TrafficRecorder recorder(0, 0, no_time);
  recorder.add({"k", "send", 0, 1, 10, 1});
  const std::string text = written_by(recorder, {0, 2, "n", "ring"});
  EXPECT_EQ(text.find("event"), std::string::npos);
}

TEST(TrafficRecorder, WithoutWindowsAndEventsTheClockIsNotRead) {
  int readings = 0;
  const auto clock = [&readings] { return static_cast<double>(++readings); };
  TrafficRecorder plain(0, 0, clock);
  plain.add({"k", "send", 0, 1, 1, 1});
  EXPECT_EQ(readings, 0);
  TrafficRecorder keeping(0, 0, clock, 9);
  keeping.add({"k", "send", 0, 1, 1, 1});
  EXPECT_EQ(readings, 1);
}

TEST(TrafficRecorder, PartiesMayBeTheGpusOfAProcess) {
  TrafficRecorder recorder(0, 0, no_time);
  recorder.add({"host_to_device", "HtoD", -2, 1, 64, 1});
  recorder.add_unmodelled("lost", 7);
  RecordIdentity identity{0, 1, "node", "ring"};
  identity.gpus = 2;
  Traffic traffic;
  read_record(written_by(recorder, identity), "a", traffic);
  EXPECT_EQ(traffic.labels(), (std::vector<std::string>{"host", "gpu 0", "gpu 1"}));
  EXPECT_EQ(traffic.matrix().bytes(0, 2), 64u);
  EXPECT_EQ(traffic.unmodelled().at("lost"), 7u);
  EXPECT_TRUE(traffic.missing_ranks().empty());
}

TEST(TrafficRecorder, AWindowThatNoIntHoldsIsTheLast) {
  TrafficRecorder recorder(10, 1e-12, [] { return 11.0; });
  recorder.add({"k", "send", 0, 1, 1, 1});
  Traffic traffic;
  read_record(written_by(recorder, {0, 2, "n", "ring"}), "a", traffic);
  EXPECT_EQ(traffic.windows(), (std::set<int>{std::numeric_limits<int>::max()}));
  EXPECT_EQ(traffic.window_s(), 1e-12);
}

TEST(RecordFile, WindowsOfOneLengthAreOneRun) {
  const std::string head = "tandem-communication 1\n";
  Traffic traffic;
  read_record(head + "windows 0.5\nend\n", "a", traffic);
  EXPECT_THROW(read_record(head + "windows 0.25\nend\n", "b", traffic), Error);
  EXPECT_NO_THROW(read_record(head + "windows 0.5\nend\n", "c", traffic));
  EXPECT_THAT(record_error(head + "windows 0\nend\n"),
              testing::HasSubstr("line 2: windows of 0 s are impossible"));
}

TEST(TrafficRecorder, ThreadsAddToTheSameCells) {
  TrafficRecorder recorder(0, 0, no_time);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&recorder] {
      for (int k = 0; k < 500; ++k) recorder.add({"k", "send", 0, 1, 3, 1});
    });
  }
  for (std::thread& thread : threads) thread.join();
  Traffic traffic;
  read_record(written_by(recorder, {0, 2, "n", "ring"}), "a", traffic);
  EXPECT_EQ(traffic.matrix().bytes(0, 1), 6000u);
}

TEST(TrafficRecorder, AFileThatCannotBeWrittenIsTold) {
  EXPECT_FALSE(TrafficRecorder(0, 0, no_time).write("/nowhere/a.record", {0, 1, "n", "ring"}));
}

TEST(RecordFile, WhatIsWrongIsNamedByLine) {
  using testing::HasSubstr;
  const std::string head = "tandem-communication 1\n";
  EXPECT_THAT(record_error("hello"), HasSubstr("rank.record line 1: this is not a record file"));
  EXPECT_THAT(record_error("tandem-communication 2\nend\n"), HasSubstr("format 2 is unknown"));
  EXPECT_THAT(record_error(head + "rank 0 of 2 on n\n"), HasSubstr("the file ends early"));
  EXPECT_THAT(record_error(head + "rank 2 of 2 on n\nend\n"),
              HasSubstr("line 2: rank 2 of 2 is impossible"));
  EXPECT_THAT(record_error(head + "rank 0 of 5000 on n\nend\n"), HasSubstr("at most 4096 ranks"));
  EXPECT_THAT(record_error(head + "cell 0 1 k send 0 0 9\nend\n"),
              HasSubstr("line 2: has 8 words instead of 9"));
  EXPECT_THAT(record_error(head + "cell 0 x k send 0 0 9 1\nend\n"),
              HasSubstr("line 2: 'x' is not a rank"));
  EXPECT_THAT(record_error(head + "cell 0 -3 k send 0 0 9 1\nend\n"),
              HasSubstr("line 2: rank -3 is not between 0 and 4095"));
  EXPECT_THAT(record_error(head + "cell 0 1 k send 0 0 9 -1\nend\n"),
              HasSubstr("'-1' is not a number of messages"));
  EXPECT_THAT(record_error(head + "event soon 0 1 k send 0 9 1\nend\n"),
              HasSubstr("line 2: 'soon' is not a time"));
  EXPECT_THAT(record_error(head + "event 1 0 5000 k send 0 9 1\nend\n"),
              HasSubstr("line 2: rank 5000 is not between 0 and 4095"));
  EXPECT_THAT(record_error(head + "dropped_events some\nend\n"),
              HasSubstr("line 2: 'some' is not a number of events"));
  EXPECT_THAT(record_error(head + "model\nend\n"), HasSubstr("has 1 words instead of 2"));
  EXPECT_THAT(record_error(head + "colour red\nend\n"),
              HasSubstr("begins with the unknown word 'colour'"));
}

TEST(TransportCounts, MessagesOfOpenMpiAreCountedAndItsOtherSectionsAreNot) {
  const std::string text =
      "# POINT TO POINT\n"
      "E\t0\t1\t1000 bytes\t2 msgs sent\t0,0,2\n"
      "I\t0\t2\t24 bytes\t1 msgs sent\t0,1\n"
      "# OSC\n"
      "S\t0\t1\t5 bytes\t1 msgs sent\n"
      "# COLLECTIVES\n"
      "E 0 1 7 bytes 1 msgs sent\n";
  Traffic traffic;
  read_transport_counts(text, "t.0.prof", traffic);
  EXPECT_EQ(traffic.counted_matrix().bytes(0, 1), 1000u);
  EXPECT_EQ(traffic.counted_matrix().messages(0, 1), 2u);
  EXPECT_EQ(traffic.counted_matrix().bytes(0, 2), 24u);
  EXPECT_TRUE(traffic.cells().empty());
  EXPECT_THROW(read_transport_counts("# POINT TO POINT\nE 0 1\n", "t", traffic), Error);
  EXPECT_THROW(read_transport_counts("# POINT TO POINT\nE 0 9999 1 b 1 m s\n", "t", traffic),
               Error);
}

TEST(TrafficRecorder, WhatWasBeforeTheRunIsInItsFirstWindow) {
  EXPECT_EQ(window_of(-3, 1), 0);
  EXPECT_EQ(window_of(0, 1), 0);
  EXPECT_EQ(window_of(2.5, 1), 2);
  EXPECT_EQ(window_of(2.5, 0), 0);
  EXPECT_EQ(window_of(1e30, 1), std::numeric_limits<int>::max());
}

}  // namespace
}  // namespace tandem::trace
