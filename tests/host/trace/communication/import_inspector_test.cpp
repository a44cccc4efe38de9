// SPDX-License-Identifier: Apache-2.0
//
// Lines as NCCL Inspector writes them; those that do not fit are named by line and field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "trace/communication/import.h"

namespace tandem::trace {
namespace {

struct InspectorLine {
  std::string id = "0x7f01";
  int rank = 0, ranks = 2;
  int pid = 100;

  std::string with(const std::string& operation) const {
    return R"({"header":{"id":")" + id + R"(","rank":)" + std::to_string(rank) + R"(,"n_ranks":)" +
           std::to_string(ranks) +
           R"(,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.0","hostname":"node",)"
           R"("pid":)" +
           std::to_string(pid) + "}," + operation + "}\n";
  }
  std::string call(const std::string& name, std::uint64_t bytes) const {
    return with(R"("coll_perf":{"coll":")" + name + R"(","coll_sn":4,"coll_msg_size_bytes":)" +
                std::to_string(bytes) + R"(,"coll_exec_time_us":61})");
  }
};

std::string inspector_error(const std::string& text) {
  try {
    import_inspector({{"a.log", text}}, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ImportInspector, CollectivesAreModelledPerRank) {
  std::string text;
  for (int rank = 0; rank < 4; ++rank) {
    text += InspectorLine{"a", rank, 4, rank}.call("AllReduce", 1000) + "\n";
    text += InspectorLine{"a", rank, 4, rank}.call("AllGather", 100);
  }
  const Traffic traffic = import_inspector({{"a.log", text}}, {});
  const CommunicationMatrix matrix = traffic.matrix();
  ASSERT_EQ(matrix.world(), 4);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(matrix.bytes(rank, (rank + 1) % 4), 2u * 1000 * 3 / 4 + 100 * 3);
    EXPECT_EQ(matrix.bytes(rank, (rank + 2) % 4), 0u);
  }
  EXPECT_EQ(traffic.operations(), (std::set<std::string>{"allgather", "allreduce"}));
  EXPECT_TRUE(traffic.missing_ranks().empty());
  EXPECT_EQ(traffic.hosts(), std::vector<std::string>(4, "node"));
}

TEST(ImportInspector, ItsTimesPartTheRun) {
  const auto line_at = [](std::uint64_t time_us) {
    return R"({"header":{"id":"a","rank":0,"n_ranks":2,"nnodes":1},"metadata":{"dump_timestamp_us":)" +
           std::to_string(time_us) + R"(,"hostname":"node","pid":1},"p2p_perf":{"p2p":"Send",)" +
           R"("p2p_msg_size_bytes":5,"p2p_peer":1}})" + "\n";
  };
  const std::string text = line_at(1748030377748202) + line_at(1748030379248202);
  const Traffic traffic = import_inspector({{"a.log", text}}, {{}, 1.0, true});
  EXPECT_EQ(traffic.windows(), (std::set<int>{0, 1}));
  ASSERT_EQ(traffic.num_events(), 2u);
  EXPECT_DOUBLE_EQ(traffic.events()[1].time_s, 1.5);
}

TEST(ImportInspector, TheAlgorithmIsTheOneAskedFor) {
  const std::string text = InspectorLine{}.call("AllReduce", 1000) +
                           InspectorLine{"0x7f01", 1, 2, 101}.call("AllReduce", 1000);
  const Traffic traffic = import_inspector({{"a", text}}, {CollectiveAlgorithm::kNvls, 0});
  EXPECT_EQ(traffic.labels(), (std::vector<std::string>{"rank 0", "rank 1", "switch"}));
  EXPECT_EQ(traffic.matrix().bytes(2, 1), 1000u);
  EXPECT_EQ(traffic.model(), "nvls");
}

TEST(ImportInspector, RanksOfSmallerCommunicatorsAreFoundByTheirProcesses) {
  std::string text;
  for (int rank = 0; rank < 4; ++rank) {
    text += InspectorLine{"world", rank, 4, 50 + rank}.call("Broadcast", 0);
  }
  text += InspectorLine{"half", 0, 2, 53}.call("AllReduce", 10);
  text += InspectorLine{"half", 1, 2, 51}.call("AllReduce", 10);
  const CommunicationMatrix matrix = import_inspector({{"a", text}}, {}).matrix();
  EXPECT_EQ(matrix.bytes(3, 1), 10u);
  EXPECT_EQ(matrix.bytes(1, 3), 10u);
  EXPECT_EQ(matrix.bytes(0, 1), 0u);
}

TEST(ImportInspector, SendsCountAndTheirReceivesDoNot) {
  const std::string send = R"("p2p_perf":{"p2p":"Send","p2p_msg_size_bytes":77,"p2p_peer":1})";
  const std::string receive = R"("p2p_perf":{"p2p":"Recv","p2p_msg_size_bytes":77,"p2p_peer":0})";
  const std::string text =
      InspectorLine{}.with(send) + InspectorLine{"0x7f01", 1, 2, 101}.with(receive);
  const Traffic traffic = import_inspector({{"a", text}}, {});
  EXPECT_EQ(traffic.matrix().bytes(0, 1), 77u);
  EXPECT_EQ(traffic.matrix().bytes(1, 0), 0u);
  EXPECT_EQ(traffic.matrix().messages(0, 1), 1u);
}

TEST(ImportInspector, AnUnknownCollectiveIsCountedAsNotModelled) {
  const Traffic traffic = import_inspector({{"a", InspectorLine{}.call("Hexagon", 5)}}, {});
  EXPECT_EQ(traffic.unmodelled().at("Hexagon"), 1u);
}

TEST(ImportInspector, WhatIsWrongIsNamedByLineAndField) {
  using testing::HasSubstr;
  const std::string good = InspectorLine{}.call("AllReduce", 10);
  EXPECT_THAT(inspector_error(good + "\n{\"header\":"),
              HasSubstr("a.log line 3: this is not a JSON object"));
  EXPECT_THAT(inspector_error("[1]"), HasSubstr("a.log line 1: this is not a JSON object"));
  EXPECT_THAT(inspector_error("{}"), HasSubstr("a.log line 1: the field 'header' is missing"));
  EXPECT_THAT(inspector_error(good + InspectorLine{}.with("\"coll_perf\":3")),
              HasSubstr("line 2: the field 'coll_perf' must be an object"));
  EXPECT_THAT(inspector_error(InspectorLine{}.with("\"coll_perf\":{\"coll\":7}")),
              HasSubstr("line 1, coll_perf: the field 'coll' must be a text"));
  EXPECT_THAT(inspector_error(InspectorLine{}.with(
                  R"("coll_perf":{"coll":"AllReduce","coll_msg_size_bytes":-1})")),
              HasSubstr("'coll_msg_size_bytes' must be a number from 0 to 2^50"));
  EXPECT_THAT(inspector_error(InspectorLine{}.call("AllReduce", (1ull << 50) + 1)),
              HasSubstr("'coll_msg_size_bytes' must be a number from 0 to 2^50"));
  EXPECT_THAT(inspector_error(InspectorLine{"a", 2, 2}.call("AllReduce", 1)),
              HasSubstr("header: the field 'rank' must be a number below 2"));
  EXPECT_THAT(inspector_error(InspectorLine{"a", 0, 5000}.call("AllReduce", 1)),
              HasSubstr("the field 'n_ranks' must be a number below 4097"));
}

TEST(ImportInspector, ACommunicatorWithoutKnownProcessesIsRefused) {
  std::string text = InspectorLine{"world", 0, 4, 50}.call("AllReduce", 8);
  text += InspectorLine{"half", 0, 2, 50}.call("AllReduce", 8);
  EXPECT_THAT(inspector_error(text),
              testing::HasSubstr("line 2: rank 1 of communicator half is not a known rank"));
}

TEST(ImportInspector, AProcessOfSeveralRanksTellsNoRank) {
  std::string text;
  for (int rank = 0; rank < 4; ++rank) {
    text += InspectorLine{"world", rank, 4, 50 + rank / 2}.call("AllReduce", 8);
  }
  text += InspectorLine{"half", 0, 2, 50}.call("AllReduce", 8);
  text += InspectorLine{"half", 1, 2, 51}.call("AllReduce", 8);
  EXPECT_THAT(inspector_error(text),
              testing::HasSubstr("of communicator half is not a known rank of the largest one"));
}

}  // namespace
}  // namespace tandem::trace
