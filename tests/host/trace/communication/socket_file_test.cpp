// SPDX-License-Identifier: Apache-2.0
//
// The ends of connections find each other; lines that do not fit are named.
#include "trace/communication/socket_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"

namespace tandem::trace {
namespace {

std::string sockets_of(int rank, const std::string& host, const std::string& lines) {
  return "tandem-sockets 1\nrank " + std::to_string(rank) + " of 2 on " + host + "\nstore 29500\n" +
         lines + "end\n";
}

std::string sockets_error(const std::string& text) {
  Traffic traffic;
  try {
    read_socket_files({{"a.sockets", text}}, traffic);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(SocketFile, BothEndsOfAConnectionAreFound) {
  Traffic traffic;
  read_socket_files({{"a", sockets_of(0, "node",
                                      "flow 127.0.0.1 4000 127.0.0.1 5000 0 100 2\n"
                                      "flow 127.0.0.1 29500 127.0.0.1 7000 0 9 1\n"
                                      "flow 127.0.0.1 4001 127.0.0.1 80 0 1000 1\n")},
                     {"b", sockets_of(1, "node",
                                      "flow 127.0.0.1 5000 127.0.0.1 4000 3 40 1\n"
                                      "flow 127.0.0.1 7000 127.0.0.1 29500 0 5 1\n")}},
                    traffic);
  EXPECT_EQ(traffic.matrix().bytes(0, 1), 109u);
  EXPECT_EQ(traffic.matrix().bytes(1, 0), 45u);
  EXPECT_EQ(traffic.kinds(), (std::set<std::string>{"gloo", "torch_store"}));
  const auto of_store =
      traffic.matrix([](const TrafficKey& key) { return key.kind == "torch_store"; });
  EXPECT_EQ(of_store.bytes(0, 1), 9u);
  EXPECT_EQ(of_store.bytes(1, 0), 5u);
  EXPECT_EQ(traffic.windows(), (std::set<int>{0, 3}));
  EXPECT_TRUE(traffic.missing_ranks().empty());
}

TEST(SocketFile, LoopbackAddressesOfTwoHostsAreDifferent) {
  const std::string from = "flow 127.0.0.1 4000 127.0.0.1 5000 0 100 2\n";
  const std::string to = "flow 127.0.0.1 5000 127.0.0.1 4000 0 40 1\n";
  Traffic traffic;
  read_socket_files({{"a", sockets_of(0, "node-1", from)}, {"b", sockets_of(1, "node-2", to)}},
                    traffic);
  EXPECT_TRUE(traffic.cells().empty());
}

TEST(SocketFile, ComparedFlowsAreInNoSum) {
  Traffic traffic;
  read_socket_files({{"a", sockets_of(0, "node", "counted 10.0.0.1 1 10.0.0.2 2 0 8 1\n")},
                     {"b", sockets_of(1, "other", "counted 10.0.0.2 2 10.0.0.1 1 0 4 1\n")}},
                    traffic);
  EXPECT_TRUE(traffic.cells().empty());
  EXPECT_EQ(traffic.counted_matrix().bytes(0, 1), 8u);
}

TEST(SocketFile, EventsAreKeptAndNotAddedAgain) {
  Traffic traffic;
  traffic.set_keeps_events(true);
  read_socket_files({{"a", sockets_of(0, "node",
                                      "flow 127.0.0.1 4000 127.0.0.1 5000 0 100 2\n"
                                      "event 127.0.0.1 4000 127.0.0.1 5000 0.5 60 1\n"
                                      "event 127.0.0.1 4000 127.0.0.1 5000 0.25 40 1\n"
                                      "event 127.0.0.1 4000 127.0.0.1 6000 0.25 1 1\n"
                                      "dropped_events 3\n")},
                     {"b", sockets_of(1, "node", "flow 127.0.0.1 5000 127.0.0.1 4000 0 40 1\n")}},
                    traffic);
  EXPECT_EQ(traffic.matrix().bytes(0, 1), 100u);
  EXPECT_EQ(traffic.dropped_events(), 3u);
  const auto events = traffic.events();
  ASSERT_EQ(events.size(), 2u) << "the other end of the third is no rank";
  EXPECT_EQ(events[0].volume.bytes, 40u);
  EXPECT_EQ(events[0].key.kind, "gloo");
  EXPECT_DOUBLE_EQ(events[1].time_s, 0.5);
}

TEST(SocketFile, AProcessMayLeaveSeveralRecords) {
  Traffic traffic;
  read_socket_files({{"a-0", sockets_of(0, "node", "flow 127.0.0.1 4000 127.0.0.1 5000 0 100 2\n")},
                     {"a-1", sockets_of(0, "node", "flow 127.0.0.1 4000 127.0.0.1 5000 0 11 1\n")},
                     {"b", sockets_of(1, "node", "flow 127.0.0.1 5000 127.0.0.1 4000 0 40 1\n")}},
                    traffic);
  EXPECT_EQ(traffic.matrix().bytes(0, 1), 111u);
}

TEST(SocketFile, WhatIsWrongIsNamedByLine) {
  using testing::HasSubstr;
  EXPECT_THAT(sockets_error("tandem-communication 1\n"),
              HasSubstr("a.sockets line 1: this is not a record of sockets"));
  EXPECT_THAT(sockets_error(sockets_of(0, "node", "flow 1 2 3\n")),
              HasSubstr("line 4: has 4 words instead of 8"));
  EXPECT_THAT(sockets_error(sockets_of(0, "node", "flow a 1 b 2 0 x 1\n")),
              HasSubstr("line 4: 'x' is not a number of bytes"));
  EXPECT_THAT(sockets_error("tandem-sockets 1\nrank 0 of 2 on node\n"), HasSubstr("ends early"));
  EXPECT_THAT(sockets_error(sockets_of(0, "node", "what\n")), HasSubstr("the unknown word 'what'"));
}

}  // namespace
}  // namespace tandem::trace
