// SPDX-License-Identifier: Apache-2.0
//
// The timeline's rows and the roofline's points.
#include "apps/card/card_drawings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::apps {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

ordered_json fir_run() {
  return {{"kind", "run_time"},
          {"kernel", "a<b"},
          {"unit", "fir_1"},
          {"modelled_us", 12.0},
          {"launch_us", 2.0},
          {"kernel_us", 10.0},
          {"cycles", 1000.0},
          {"limit", "loop"},
          {"operations", 8000.0},
          {"compute_us", 4.0},
          {"processes", {{{"process", "load"}, {"start_cycle", 100}, {"end_cycle", 600}}}},
          {"ports", {{{"argument", "in"}, {"direction", "read"}, {"bytes", 4000}, {"cycles", 50}}}},
          {"channels", {{{"bank", "HBM[1]"}, {"bytes", 4000}, {"busy_us", 0.3}, {"peak", 14.0}}}}};
}

ordered_json row_named(const ordered_json& trace, const std::string& name) {
  for (const ordered_json& each : trace["traceEvents"]) {
    if (each["ph"] == "M" && each["args"]["name"] == name) return each;
  }
  return {};
}

ordered_json event_in(const ordered_json& trace, const std::string& row) {
  const ordered_json named = row_named(trace, row);
  if (named.is_null()) return {};
  for (const ordered_json& each : trace["traceEvents"]) {
    if (each["ph"] == "X" && each["pid"] == named["pid"] && each["tid"] == named["tid"])
      return each;
  }
  return {};
}

TEST(CardTimeline, HasARowPerProcessPortAndChannel) {
  const std::vector<ordered_json> lines = {
      fir_run(),
      {{"kind", "transfer_time"}, {"card", 0}, {"direction", "to_device"}, {"bytes", 5}}};
  ScheduledItem run{&lines[0], 100, 112, 12, "", {}}, copy{&lines[1], 0, 3, 3, "", {}};
  const ordered_json trace = card_timeline({copy, run});
  EXPECT_EQ(row_named(trace, "unit fir_1")["name"], "process_name");
  EXPECT_EQ(event_in(trace, "runs")["ts"], 100);
  EXPECT_EQ(event_in(trace, "runs")["dur"], 12);
  // Cycles count from the kernel's start, behind the launch: 100 to 600 of 1000 in 10 us.
  EXPECT_DOUBLE_EQ(event_in(trace, "process load")["ts"], 103);
  EXPECT_DOUBLE_EQ(event_in(trace, "process load")["dur"], 5);
  EXPECT_EQ(event_in(trace, "port in read")["args"]["bytes"], 4000);
  EXPECT_DOUBLE_EQ(event_in(trace, "port in read")["args"]["busy_us"], 0.5);
  EXPECT_EQ(event_in(trace, "channel HBM[1], fir_1")["name"], "4000 bytes");
  EXPECT_EQ(event_in(trace, "to_device")["dur"], 3);
}

TEST(CardTimeline, SeveralCardsHaveRowsOfTheirOwn) {
  std::vector<ordered_json> lines = {fir_run(), fir_run()};
  lines[0]["process"] = 41;
  lines[1]["process"] = 42;
  const ordered_json trace =
      card_timeline({{&lines[0], 0, 12, 12, "", {}}, {&lines[1], 0, 12, 12, "", {}}});
  for (const char* group :
       {"unit fir_1 of card 41", "unit fir_1 of card 42", "memory of card 42"}) {
    EXPECT_EQ(row_named(trace, group)["name"], "process_name") << group;
  }
}

TEST(CardTimeline, ARunThatSharesABankIsStretched) {
  const std::vector<ordered_json> lines = {fir_run()};
  const ordered_json trace = card_timeline({{&lines[0], 0, 22, 12, "HBM[1]", {"other"}}});
  EXPECT_DOUBLE_EQ(event_in(trace, "process load")["ts"], 4);
  EXPECT_DOUBLE_EQ(event_in(trace, "process load")["dur"], 10);
  EXPECT_EQ(event_in(trace, "runs")["args"]["shared"], "HBM[1]");
}

TEST(CardRoofline, DrawsAKernelBelowItsRoofs) {
  const std::vector<ordered_json> lines = {fir_run()};
  const std::string svg = card_roofline({{&lines[0], 0, 12, 12, "", {}}});
  EXPECT_THAT(svg, HasSubstr("<svg xmlns="));
  // 8000 operations on 4000 bytes in 10 us; the loops could do them in 4 us.
  EXPECT_THAT(svg, HasSubstr("a&lt;b: 2 operations per byte, 0.8 of 2 x 10^9 per second"));
  EXPECT_THAT(svg, HasSubstr("<polyline"));
  ordered_json idle = fir_run();
  idle["operations"] = 0;
  const std::vector<ordered_json> idle_lines = {idle};
  EXPECT_EQ(card_roofline({{&idle_lines[0], 0, 12, 12, "", {}}}), "");
  ordered_json unknown_bank = fir_run();
  unknown_bank["channels"][0]["peak"] = 0;
  const std::vector<ordered_json> unknown_lines = {unknown_bank};
  EXPECT_EQ(card_roofline({{&unknown_lines[0], 0, 12, 12, "", {}}}), "");
}

}  // namespace
}  // namespace tandem::apps
