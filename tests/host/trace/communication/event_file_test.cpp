// SPDX-License-Identifier: Apache-2.0
//
// Events go out as lines by time and come back as the matrices that they were.
#include "trace/communication/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/error.h"
#include "trace/communication/import.h"

namespace tandem::trace {
namespace {

Traffic eventful_traffic() {
  Traffic traffic("gpu");
  traffic.set_keeps_events(true);
  traffic.add_event({0.75, {1, 0, "peer_copy", "PtoP"}, {30, 1}});
  traffic.add_event({0.25, {kHostParty, 1, "host_to_device", "HtoD", "warm-up"}, {100, 2}});
  traffic.add_event({0.25, {0, kSwitchRank, "nccl_collective", "allreduce"}, {7, 1}});
  return traffic;
}

std::string event_text(const Traffic& traffic) {
  std::string text;
  write_events(traffic, [&text](const std::string& piece) { text += piece; });
  return text;
}

std::string events_error(const std::string& lines) {
  try {
    import_events({{"run.events.csv", event_text(Traffic()) + lines}}, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(EventFile, HasALinePerEventByTime) {
  EXPECT_EQ(event_text(eventful_traffic()),
            "time_s,source,destination,bytes,messages,kind,operation,phase\n"
            "0.2500000,host,gpu 1,100,2,host_to_device,HtoD,warm-up\n"
            "0.2500000,gpu 0,switch,7,1,nccl_collective,allreduce,0\n"
            "0.7500000,gpu 1,gpu 0,30,1,peer_copy,PtoP,0\n");
}

TEST(EventFile, MatricesOfAnyWindowsFollowFromTheEvents) {
  const Traffic before = eventful_traffic();
  const Traffic after = import_events({{"run.events.csv", event_text(before)}}, {{}, 0.5, true});
  EXPECT_EQ(after.labels(), before.labels());
  const CommunicationMatrix was = before.matrix(), is = after.matrix();
  ASSERT_EQ(is.world(), was.world());
  for (int from = 0; from < is.world(); ++from) {
    for (int to = 0; to < is.world(); ++to) {
      EXPECT_EQ(is.bytes(from, to), was.bytes(from, to));
      EXPECT_EQ(is.messages(from, to), was.messages(from, to));
    }
  }
  EXPECT_EQ(after.windows(), (std::set<int>{0, 1}));
  EXPECT_EQ(after.phases(), (std::set<std::string>{"0", "warm-up"}));
  EXPECT_EQ(event_text(after), event_text(before));
}

TEST(EventFile, LargeFilesComeInPieces) {
  Traffic traffic;
  traffic.set_keeps_events(true);
  for (int i = 0; i < 40'000; ++i) traffic.add_event({i * 1e-3, {0, 1, "k", "send"}, {1, 1}});
  std::size_t pieces = 0, lines = 0;
  write_events(traffic, [&](const std::string& piece) {
    ++pieces;
    lines += static_cast<std::size_t>(std::count(piece.begin(), piece.end(), '\n'));
  });
  EXPECT_GT(pieces, 1u);
  EXPECT_EQ(lines, 40'001u);
}

TEST(EventFile, WhatIsWrongIsNamedByLine) {
  using testing::HasSubstr;
  EXPECT_THAT(events_error("1,rank 0,rank 1\n"),
              HasSubstr("run.events.csv line 2: there are 3 fields for 8 columns"));
  EXPECT_THAT(events_error("now,rank 0,rank 1,1,1,k,o,0\n"), HasSubstr("'now' is not a time"));
  EXPECT_THAT(events_error("1,rank 0,rank 4096,1,1,k,o,0\n"),
              HasSubstr("'rank 4096' is none of: host, switch, and a word with a number from 0 to "
                        "4095"));
  EXPECT_THAT(events_error("1,rank 0,7,1,1,k,o,0\n"), HasSubstr("'7' is none of"));
  EXPECT_THAT(events_error("1,rank 0,rank 1,-1,1,k,o,0\n"),
              HasSubstr("'-1' is not a number of bytes"));
  EXPECT_THAT(events_error("1,rank 0,rank 1,1,1,k,o,0"),
              HasSubstr("line 2: the line has no end: the file was cut"));
  EXPECT_THAT(events_error("\n1,rank 0,rank 1,1,1,k,o,0\n"), HasSubstr("line 2: there are 1"));
  try {
    import_events({{"x.csv", "time_s,source,destination,bytes,more\n"}}, {});
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("x.csv line 1: the columns are not time_s,source"));
  }
}

}  // namespace
}  // namespace tandem::trace
