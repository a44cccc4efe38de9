// SPDX-License-Identifier: Apache-2.0
//
// What `tandem card watch` shows of cards that answered once or twice, and of those that did not.
#include "apps/card/card_view.h"

#include <gtest/gtest.h>

namespace tandem::apps {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;

Json answer_with(std::uint64_t to_device, std::uint64_t busy_ns, std::uint64_t running_ns) {
  return {{"platform", "u55c"},
          {"applications", {41}},
          {"memory_bytes", 64 << 20},
          {"free_bytes", 60 << 20},
          {"bytes_to_device", to_device},
          {"bytes_from_device", 7},
          {"findings", 2},
          {"units",
           {{{"kernel", "add"},
             {"unit", "add_1"},
             {"state", "waits"},
             {"commands", 3},
             {"launches", 9},
             {"busy_ns", busy_ns},
             {"running_ns", running_ns},
             {"waits", {"process 'add' waits for data in stream 's' (0 of 4 held)"}}}}},
          {"streams",
           {{{"stream", "s"}, {"from", "a_1"}, {"to", "add_1"}, {"held", 3}, {"depth", 4}},
            {{"stream", "t"}, {"from", "a_1"}, {"to", "add_1"}, {"held", 5}, {"depth", 0}}}}};
}

WatchedCard card_at(milliseconds time, const Json& answer, const char* state = "open") {
  return {77, "private", state, answer, std::chrono::steady_clock::time_point(time)};
}

TEST(CardView, RatesAndSharesAreThoseBetweenBothLooks) {
  const auto before = card_at(milliseconds(1000), answer_with(100, 500'000'000, 0));
  const auto now =
      card_at(milliseconds(3000), answer_with(4'000'000'100, 900'000'000, 100'000'000));
  const Json view = cards_json({before}, {now});
  const Json& card = view["cards"][0];
  EXPECT_EQ(card["process"], 77);
  EXPECT_EQ(card["used_bytes"], 4 << 20);
  EXPECT_DOUBLE_EQ(card["to_device_gb_per_s"].get<double>(), 2.0);
  EXPECT_DOUBLE_EQ(card["from_device_gb_per_s"].get<double>(), 0.0);
  EXPECT_DOUBLE_EQ(card["units"][0]["busy_share"].get<double>(), 0.25);
  EXPECT_EQ(card["units"][0]["launches"], 9);
  EXPECT_EQ(card["streams"][0]["held"], 3);
}

TEST(CardView, ANewCardHasNoRates) {
  const auto now = card_at(milliseconds(1000), answer_with(5, 0, 0));
  auto other = now;
  other.process = 78;
  const Json view = cards_json({other}, {now});
  EXPECT_TRUE(view["cards"][0]["to_device_gb_per_s"].is_null());
  EXPECT_TRUE(view["cards"][0]["units"][0]["busy_share"].is_null());
  EXPECT_EQ(view["cards"][0]["bytes_to_device"], 5);
}

// A run that began before the first look is busy all the time, a counter that went back is unknown.
TEST(CardView, SharesStayBetweenNothingAndAll) {
  const auto before = card_at(milliseconds(0), answer_with(9, 10, 5'000'000'000));
  const auto now = card_at(milliseconds(1000), answer_with(8, 7'000'000'000, 0));
  const Json view = cards_json({before}, {now});
  EXPECT_DOUBLE_EQ(view["cards"][0]["units"][0]["busy_share"].get<double>(), 1.0);
  EXPECT_TRUE(view["cards"][0]["to_device_gb_per_s"].is_null());
  const Json back = cards_json({now}, {card_at(milliseconds(2000), answer_with(9, 10, 0))});
  EXPECT_TRUE(back["cards"][0]["units"][0]["busy_share"].is_null());
}

TEST(CardView, TheTextNamesUnitsWaitsAndStreams) {
  const auto now = card_at(milliseconds(0), answer_with(5, 0, 0));
  const std::string text = cards_text(cards_json({}, {now}), 0);
  EXPECT_NE(text.find("card 77 (private): open, u55c, used by 41\n"), std::string::npos) << text;
  EXPECT_NE(text.find("memory 4.0 of 64.0 MiB used"), std::string::npos) << text;
  EXPECT_NE(text.find("process 'add' waits for data in stream 's'"), std::string::npos) << text;
  EXPECT_NE(text.find("stream s (a_1 -> add_1): 3 of 4 held\n"), std::string::npos) << text;
  EXPECT_NE(text.find("stream t (a_1 -> add_1): 5 held\n"), std::string::npos) << text;
}

TEST(CardView, CardsWithoutAnAnswerAndNoCardsAreTold) {
  const auto silent = card_at(milliseconds(0), nullptr, "silent");
  const Json view = cards_json({}, {silent});
  EXPECT_EQ(view["cards"][0].size(), 3u);
  EXPECT_EQ(cards_text(view, 0), "card 77 (private): silent\n");
  EXPECT_EQ(cards_text(cards_json({}, {}), 0), "no emulated card runs for this user\n");
  auto empty = answer_with(0, 0, 0);
  empty["units"] = Json::array();
  const Json idle = cards_json({}, {card_at(milliseconds(0), empty)});
  EXPECT_NE(cards_text(idle, 0).find("no bitstream is loaded"), std::string::npos);
}

TEST(CardView, LinesAreCutToTheTerminal) {
  const Json view{
      {"cards", {{{"process", 5}, {"card", "shared \u00e4\u00f6\u00fc"}, {"state", "lost"}}}}};
  EXPECT_EQ(cards_text(view, 18), "card 5 (shared \u00e4\u00f6\u00fc\n");
  EXPECT_EQ(cards_text(view, 16), "card 5 (shared \u00e4\n");
}

// What another program wrote to the area is not trusted.
TEST(CardView, AnswersOfOtherKindsGiveZeros) {
  const Json strange{
      {"platform", 3}, {"units", "none"}, {"streams", {1, "x"}}, {"free_bytes", "y"}};
  const Json view = cards_json({}, {card_at(milliseconds(0), strange)});
  EXPECT_EQ(view["cards"][0]["platform"], "");
  EXPECT_EQ(view["cards"][0]["memory_bytes"], 0);
  EXPECT_NE(cards_text(view, 0).find("open"), std::string::npos);
}

}  // namespace
}  // namespace tandem::apps
