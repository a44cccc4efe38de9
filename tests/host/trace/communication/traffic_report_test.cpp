// SPDX-License-Identifier: Apache-2.0
//
// Every output agrees with the matrix: JSON ([dst][src]), CSV, Prometheus text, pictures and page.
#include "trace/communication/traffic_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/error.h"

namespace tandem::trace {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Traffic small_traffic() {
  Traffic traffic;
  traffic.set_least_parties(3);
  traffic.add({0, 1, "mpi_point_to_point", "send"}, {100, 2});
  traffic.add({0, 1, "mpi_collective", "broadcast"}, {11, 1});
  traffic.add({2, 0, "mpi_point_to_point", "isend"}, {7, 1});
  return traffic;
}

TEST(TrafficReport, JsonHasRowsThatReceiveAndColumnsThatSend) {
  const json report = json::parse(traffic_json(small_traffic()));
  EXPECT_EQ(report["ranks"], 3);
  EXPECT_EQ(report["bytes"], json::parse("[[0,0,7],[111,0,0],[0,0,0]]"));
  EXPECT_EQ(report["counts"], json::parse("[[0,0,1],[3,0,0],[0,0,0]]"));
  EXPECT_EQ(report["by_kind"]["mpi_collective"]["bytes"],
            json::parse("[[0,0,0],[11,0,0],[0,0,0]]"));
  EXPECT_EQ(report["by_collective"]["isend"]["counts"], json::parse("[[0,0,1],[0,0,0],[0,0,0]]"));
  EXPECT_TRUE(report["host_row"].is_null());
  EXPECT_FALSE(report.contains("by_phase"));
  EXPECT_FALSE(report.contains("by_window"));
  EXPECT_FALSE(report.contains("counted"));
}

TEST(TrafficReport, PhasesWindowsAndCountsAppearWhereThereAreSome) {
  Traffic traffic = small_traffic();
  traffic.set_window_s(0.5);
  traffic.add({1, 2, "mpi_point_to_point", "send", "4", 6}, {5, 1});
  traffic.add_counted({0, 1, "transport", "E"}, {101, 2});
  traffic.add_unmodelled("scan", 9);
  const json report = json::parse(traffic_json(traffic));
  EXPECT_EQ(report["by_phase"]["4"]["bytes"][2][1], 5);
  EXPECT_EQ(report["by_window"]["6"]["bytes"][2][1], 5);
  EXPECT_EQ(report["window_s"], 0.5);
  EXPECT_EQ(report["counted"]["bytes"][1][0], 101);
  EXPECT_EQ(report["counted_minus_model_bytes"][1][0], -10);
  EXPECT_EQ(report["not_modelled"]["scan"], 9);
}

TEST(TrafficReport, TheHostIsRowZeroAndTheSwitchIsLast) {
  Traffic traffic("gpu");
  traffic.add({kHostParty, 1, "host_to_device", "HtoD"}, {9, 1});
  traffic.add({0, kSwitchRank, "nccl_collective", "allreduce"}, {4, 1});
  const json report = json::parse(traffic_json(traffic));
  EXPECT_EQ(report["labels"], json::parse(R"(["host","gpu 0","gpu 1","switch"])"));
  EXPECT_EQ(report["host_row"], 0);
  EXPECT_EQ(report["bytes"][2][0], 9);
  EXPECT_EQ(report["bytes"][3][1], 4);
}

TEST(TrafficReport, PrometheusHasTheLargestFlowsOfALargeRun) {
  Traffic traffic;
  constexpr int kRanks = 120;  // 14,280 pairs
  for (int from = 0; from < kRanks; ++from) {
    for (int to = 0; to < kRanks; ++to) {
      if (from == to) continue;
      const auto bytes = static_cast<std::uint64_t>(1 + from * kRanks + to);
      traffic.add({from, to, "k", "o"}, {bytes, 1});
    }
  }
  const std::string text = traffic_prometheus(traffic);
  EXPECT_THAT(text, StartsWith("# the largest 10000 of 14280 pairs\n# TYPE "));
  EXPECT_EQ(std::ranges::count(text, '\n'), 3 + 2 * static_cast<int>(kMostSeries));
  EXPECT_THAT(text, HasSubstr("source=\"rank 119\",destination=\"rank 118\",kind=\"k\"} 14399\n"));
  EXPECT_THAT(text, Not(HasSubstr("source=\"rank 0\"")));
}

TEST(TrafficReport, CsvAndPrometheusHaveALinePerFlow) {
  EXPECT_EQ(traffic_csv(small_traffic()),
            "source,destination,kind,operation,phase,window,bytes,messages\n"
            "rank 0,rank 1,mpi_collective,broadcast,0,0,11,1\n"
            "rank 0,rank 1,mpi_point_to_point,send,0,0,100,2\n"
            "rank 2,rank 0,mpi_point_to_point,isend,0,0,7,1\n");
  EXPECT_THAT(traffic_prometheus(small_traffic()),
              testing::HasSubstr("tandem_communication_bytes_total{source=\"rank 0\",destination="
                                 "\"rank 1\",kind=\"mpi_collective\"} 11\n"));
}

TEST(TrafficReport, ThePageHasBothPicturesOneByKindAndNoScript) {
  Traffic traffic = small_traffic();
  traffic.note_record(0);
  const std::string page = traffic_html(traffic, "a <run>");
  EXPECT_THAT(page, testing::HasSubstr("<title>a &lt;run></title>"));
  EXPECT_THAT(page, testing::HasSubstr("linear scale"));
  EXPECT_THAT(page, testing::HasSubstr("logarithmic scale"));
  EXPECT_THAT(page, testing::HasSubstr("<title>mpi_collective</title>"));
  EXPECT_THAT(page, testing::HasSubstr("2 ranks left no record"));
  EXPECT_THAT(page, testing::HasSubstr("<td>rank 0</td><td>rank 1</td><td>mpi_point_to_point"));
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("<script")));
}

TEST(TrafficReport, ThePageListsTheLargestFlowsFirst) {
  const std::string page = traffic_html(small_traffic(), "t");
  const auto table = page.find("<h2>Largest flows</h2>");
  ASSERT_NE(table, std::string::npos);
  const auto place = [&](const char* bytes) {
    return page.find("<td class=\"n\">" + std::string(bytes) + "</td>", table);
  };
  EXPECT_LT(place("100"), place("11"));
  EXPECT_LT(place("11"), place("7"));
}

TEST(TrafficReport, ThePageHasAPictureByCollectiveAndPhaseWhereThereAreSeveral) {
  Traffic one;
  one.add({0, 1, "only_kind", "only_call", "only_phase"}, {9, 1});
  EXPECT_THAT(traffic_html(one, "t"), Not(HasSubstr("<h2>By")));
  Traffic two = one;
  two.add({1, 0, "only_kind", "gather", "late"}, {3, 1});
  const std::string page = traffic_html(two, "t");
  EXPECT_THAT(page, Not(HasSubstr("<h2>By kind</h2>")));
  EXPECT_THAT(page, HasSubstr("<h2>By collective</h2>"));
  EXPECT_THAT(page, HasSubstr("<title>gather</title>"));
  EXPECT_THAT(page, HasSubstr("<h2>By phase</h2>"));
  EXPECT_THAT(page, HasSubstr("<title>late</title>"));
}

TEST(TrafficReport, ThePageHasABoundedNumberOfPictures) {
  Traffic traffic;
  for (int phase = 0; phase < 20; ++phase) {
    traffic.add({0, 1, "k", "o", std::to_string(phase)}, {9, 1});
  }
  const std::string page = traffic_html(traffic, "t");
  EXPECT_THAT(page, HasSubstr("<p>4 more are in the JSON.</p>"));
  EXPECT_THAT(page, Not(HasSubstr("<title>9</title>"))) << "in the order of their names";
  EXPECT_THAT(page, HasSubstr("<title>5</title>"));
  EXPECT_THAT(page, Not(HasSubstr("<title>6</title>"))) << "the 17th";
}

TEST(TrafficReport, JsonTellsHowManyEventsThereAre) {
  Traffic traffic = small_traffic();
  EXPECT_FALSE(json::parse(traffic_json(traffic)).contains("events"));
  traffic.set_keeps_events(true);
  traffic.add_event({0.5, {0, 1, "k", "o"}, {7, 1}});
  traffic.add_dropped_events(4);
  EXPECT_EQ(json::parse(traffic_json(traffic))["events"], json::parse(R"({"kept":1,"dropped":4})"));
  EXPECT_THAT(traffic_html(traffic, "t"), HasSubstr("4 single events were not kept"));
}

// The words of parties come from a file where events are imported.
TEST(TrafficReport, NamesOfAFileAreNoMarkup) {
  Traffic traffic("<b>\"");
  traffic.add({0, 1, "<i>\"", "<u>"}, {1, 1});
  const std::string page = traffic_html(traffic, "t");
  for (const char* tag : {"<b>", "<i>", "<u>"}) EXPECT_THAT(page, Not(HasSubstr(tag)));
  EXPECT_THAT(traffic_prometheus(traffic),
              HasSubstr(R"({source="<b>\" 0",destination="<b>\" 1",kind="<i>\""} 1)"));
}

TEST(TrafficReport, NamesThatAreNoTextStayJson) {
  Traffic traffic;
  traffic.add({0, 1, "a\"b\xff", "o"}, {1, 1});
  const json report = json::parse(traffic_json(traffic));
  EXPECT_TRUE(report["by_kind"].contains("a\"b\xef\xbf\xbd"));
}

TEST(Traffic, CellsOfOneKeyAreJoinedInWhateverOrderTheyCome) {
  Traffic traffic;
  constexpr int kRanks = 300, kTimes = 4;  // 360,000 cells of 90,000 keys
  for (int time = 0; time < kTimes; ++time) {
    for (int i = 0; i < kRanks * kRanks; ++i) {
      const int cell = i * 7919 % (kRanks * kRanks);
      traffic.add({cell / kRanks, cell % kRanks, "k", time % 2 == 0 ? "a" : "b"}, {2, 1});
    }
  }
  EXPECT_EQ(traffic.cells().size(), 2u * kRanks * kRanks);
  EXPECT_TRUE(std::ranges::is_sorted(traffic.cells(), {}, &TrafficCells::Cell::first));
  for (const auto& [key, volume] : traffic.cells()) {
    ASSERT_EQ(volume, (TrafficVolume{4, 2})) << key.source << " " << key.destination;
  }
}

TEST(Traffic, ACopyKeepsItsNames) {
  auto whole = std::make_unique<Traffic>();
  whole->add({0, 1, std::string("a_kind_that_is_rather_long"), "o"}, {1, 1});
  const Traffic copy = *whole;
  whole.reset();
  EXPECT_EQ(copy.kinds(), std::set<std::string>{"a_kind_that_is_rather_long"});
}

TEST(Traffic, EventsFallIntoTheWindowOfTheirTime) {
  Traffic traffic;
  traffic.set_window_s(0.5);
  traffic.add_event({0.4, {0, 1, "k", "o"}, {1, 1}});
  traffic.add_event({1.2, {0, 1, "k", "o"}, {10, 1}});
  EXPECT_EQ(traffic.windows(), (std::set<int>{0, 2}));
  EXPECT_EQ(traffic.num_events(), 0u) << "nobody wants them";
}

TEST(Traffic, RanksBeyondTheMostAreRefused) {
  Traffic traffic;
  try {
    traffic.add({0, kMostParties, "k", "send"}, {1, 1});
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("rank or device 4096; numbers are 0 to 4095"));
  }
}

}  // namespace
}  // namespace tandem::trace
