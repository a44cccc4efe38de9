// SPDX-License-Identifier: Apache-2.0
//
// Runs and copies on one axis: their real order, and what they share.
#include "apps/card/card_schedule.h"

#include <gtest/gtest.h>

#include "apps/card/card_times.h"

namespace tandem::apps {
namespace {

using nlohmann::ordered_json;

ordered_json run(const std::string& unit, std::uint64_t begun, std::uint64_t ended, double us,
                 const std::string& bank, double busy_us) {
  return {{"kind", "run_time"},
          {"kernel", "k"},
          {"unit", unit},
          {"modelled_us", us},
          {"modelled_us_low", us},
          {"modelled_us_high", us},
          {"begun_ns", begun},
          {"ended_ns", ended},
          {"channels", {{{"bank", bank}, {"busy_us", busy_us}}}}};
}

ordered_json copy(const std::string& direction, std::uint64_t begun, std::uint64_t ended,
                  double us) {
  return {
      {"kind", "transfer_time"}, {"card", 0},         {"direction", direction}, {"modelled_us", us},
      {"begun_ns", begun},       {"ended_ns", ended}, {"bytes", 1000}};
}

TEST(CardSchedule, WhatHadEndedBeforeStaysBefore) {
  const std::vector<ordered_json> lines = {copy("to_device", 0, 10, 50),
                                           run("a", 20, 30, 100, "HBM[0]", 10),
                                           copy("from_device", 40, 50, 25)};
  const auto items = schedule_card_times(lines);
  ASSERT_EQ(items.size(), 3u);
  EXPECT_DOUBLE_EQ(items[0].end_us, 50);
  EXPECT_DOUBLE_EQ(items[1].start_us, 50);
  EXPECT_DOUBLE_EQ(items[1].end_us, 150);
  EXPECT_DOUBLE_EQ(items[2].start_us, 150);
  EXPECT_DOUBLE_EQ(items[2].end_us, 175);
}

TEST(CardSchedule, WhatOverlappedOverlaps) {
  const std::vector<ordered_json> lines = {run("a", 0, 100, 80, "HBM[0]", 80),
                                           run("b", 1, 90, 60, "HBM[1]", 60),
                                           copy("to_device", 5, 20, 30)};
  const auto items = schedule_card_times(lines);
  for (const ScheduledItem& item : items) {
    EXPECT_EQ(item.start_us, 0);
    EXPECT_NEAR(item.end_us, item.alone_us, 1e-6);
    EXPECT_EQ(item.shared, "");
  }
}

TEST(CardSchedule, RunsOnOneBankShareItsBandwidth) {
  // Each keeps the bank busy for its whole time, so each takes twice as long.
  const std::vector<ordered_json> lines = {run("a", 0, 100, 80, "HBM[0]", 80),
                                           run("b", 1, 100, 80, "HBM[0]", 80)};
  const auto items = schedule_card_times(lines);
  EXPECT_NEAR(items[0].end_us, 160, 1e-6);
  EXPECT_NEAR(items[1].end_us, 160, 1e-6);
  EXPECT_EQ(items[0].shared, "HBM[0]");
  EXPECT_EQ(items[0].with, std::vector<std::string>{"b"});
  // Half of the bank each is enough for both.
  const auto light =
      schedule_card_times({run("a", 0, 100, 80, "HBM[0]", 40), run("b", 1, 100, 80, "HBM[0]", 40)});
  EXPECT_NEAR(light[0].end_us, 80, 1e-6);
  EXPECT_EQ(light[0].shared, "");
}

TEST(CardSchedule, TheOneThatGoesOnAloneIsFastAgain) {
  const auto items = schedule_card_times(
      {run("a", 0, 100, 40, "DDR[0]", 40), run("b", 1, 100, 100, "DDR[0]", 100)});
  EXPECT_NEAR(items[0].end_us, 80, 1e-6);
  EXPECT_NEAR(items[1].end_us, 140, 1e-6);
}

TEST(CardSchedule, ARunGetsWhatTheOthersOfItsBankLeave) {
  ordered_json a = run("a", 0, 100, 100, "HBM[0]", 100), c = run("c", 2, 90, 30, "HBM[1]", 30);
  a["channels"].push_back({{"bank", "HBM[1]"}, {"busy_us", 50}});
  // a and b get half of HBM[0] each, so a takes a quarter of HBM[1] and leaves three to c.
  const auto items = schedule_card_times({a, run("b", 1, 100, 100, "HBM[0]", 100), c});
  EXPECT_NEAR(items[2].end_us, 40, 1e-6);
  EXPECT_EQ(items[2].shared, "HBM[1]");
}

TEST(CardSchedule, AUnitDoesOneRunAtATime) {
  const auto items =
      schedule_card_times({run("a", 0, 100, 10, "DDR[0]", 1), run("a", 1, 100, 10, "DDR[1]", 1)});
  EXPECT_NEAR(items[1].start_us, 10, 1e-6);
}

TEST(CardSchedule, CardsShareNothing) {
  ordered_json here = run("a", 0, 100, 80, "HBM[0]", 80), there = here;
  here["process"] = 41;
  there["process"] = 42;
  for (const ScheduledItem& item : schedule_card_times({here, there})) {
    EXPECT_NEAR(item.end_us, 80, 1e-6);
  }
  ordered_json beside = run("b", 0, 100, 80, "HBM[0]", 80);
  beside["process"] = 41;
  const auto items = schedule_card_times({here, beside, there});
  EXPECT_NEAR(items[0].end_us, 160, 1e-6);
  EXPECT_EQ(items[0].shared, "HBM[0]");
  EXPECT_NEAR(items[2].end_us, 80, 1e-6);
}

TEST(CardSchedule, CopiesOfOneDirectionShareTheLink) {
  const std::vector<ordered_json> lines = {
      copy("to_device", 0, 10, 20), copy("to_device", 1, 10, 20), copy("from_device", 1, 9, 20)};
  const auto items = schedule_card_times(lines);
  for (const ScheduledItem& item : items) {
    const bool is_in = (*item.line)["direction"] == "to_device";
    EXPECT_NEAR(item.end_us, is_in ? 40 : 20, 1e-6);
  }
}

TEST(CardSchedule, LinesWithoutStampsFollowOneAnother) {
  ordered_json line = {{"kind", "run_time"}, {"unit", "a"}, {"modelled_us", 5}};
  ordered_json other = line;
  other["unit"] = "b";
  const auto items = schedule_card_times({line, other, line});
  EXPECT_NEAR(items[2].end_us, 15, 1e-6);
}

TEST(CardSchedule, ManyRunsAreQuick) {
  std::vector<ordered_json> lines;
  for (std::uint64_t index = 0; index < 5'000; ++index) {
    lines.push_back(run("a", 2 * index, 2 * index + 1, 1, "DDR[0]", 1));
  }
  EXPECT_NEAR(schedule_card_times(lines).back().end_us, 5'000, 1e-3);
}

TEST(CardSchedule, AReportTellsWhatARunTakesBesideAnother) {
  ordered_json a = run("a", 0, 100, 80, "HBM[0]", 80), b = run("b", 1, 100, 80, "HBM[0]", 80);
  a["ports"] = {{{"argument", "in"}, {"bandwidth", 12.0}, {"share_of_peak", 0.9}}};
  ordered_json report;
  add_times({a, b, copy("to_device", 200, 300, 7)}, report);
  EXPECT_NEAR(report["modelled_us"], 320, 1e-6);
  EXPECT_NEAR(report["makespan_us"], 167, 1e-6);
  EXPECT_EQ(report["runs"][0]["limit"], "channel HBM[0]");
  EXPECT_EQ(report["runs"][0]["why"], "b use it at the same time; it alone takes 80.000 us");
  EXPECT_EQ(report["runs"][0]["alone_us"], 80);
  EXPECT_NEAR(report["runs"][0]["ports"][0]["bandwidth"], 6, 1e-6);
  EXPECT_EQ(report["transfers"][0]["copies"], 1);
  EXPECT_EQ(report["transfers"][0]["bytes"], 1000);
}

}  // namespace
}  // namespace tandem::apps
