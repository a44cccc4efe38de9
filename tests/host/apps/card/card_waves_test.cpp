// SPDX-License-Identifier: Apache-2.0
//
// Waveforms of runs whose changes follow by hand, read back from the VCD's text.
#include "apps/card/card_waves.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "apps/card/wave_dump.h"

namespace tandem::apps {
namespace {

using nlohmann::ordered_json;
using Changes = std::vector<std::pair<std::int64_t, std::string>>;

// The changes of each signal, by its path: "card_0.unit_1.control.ap_start".
std::map<std::string, Changes> read_vcd(const std::string& text) {
  std::map<std::string, std::string> paths;
  std::map<std::string, Changes> signals;
  std::vector<std::string> scopes;
  std::istringstream in(text);
  std::int64_t now = 0;
  bool declares = true;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    if (all[0] == "$scope") scopes.push_back(all.at(2));
    if (all[0] == "$upscope") scopes.pop_back();
    if (all[0] == "$enddefinitions") declares = false;
    if (all[0] == "$var") {
      std::string path;
      for (const std::string& scope : scopes) path += scope + ".";
      EXPECT_TRUE(paths.emplace(all.at(3), path + all.at(4)).second) << line;
    }
    if (declares || all[0][0] == '$') continue;
    if (all[0][0] == '#') {
      now = std::stoll(all[0].substr(1));
    } else if (all[0][0] == 'b') {
      signals[paths.at(all.at(1))].push_back({now, all[0].substr(1)});
    } else {
      signals[paths.at(all[0].substr(1))].push_back({now, all[0].substr(0, 1)});
    }
  }
  EXPECT_TRUE(scopes.empty());
  return signals;
}

ordered_json run_line(double begun) {
  return {{"kind", "run_time"}, {"unit", "fir_1"},  {"process", 77},
          {"begun_ns", begun},  {"launch_us", 1.0}, {"modelled_us", 11.0}};
}

// 100 cycles; with the schedule of the tests 0.1 us each.
ordered_json waves_line(double begun) {
  return {
      {"kind", "run_waves"},
      {"unit", "fir_1"},
      {"process", 77},
      {"begun_ns", begun},
      {"cycles", 100},
      {"registers", {{{"name", "n"}, {"offset", 16}, {"before", "0a"}, {"after", "ff"}}}},
      {"processes",
       {{{"process", "load"}, {"start_cycle", 10}, {"end_cycle", 60}, {"waiting", {20, 30}}},
        {{"process", "load"},
         {"start_cycle", 30},
         {"end_cycle", 40},
         {"waiting", ordered_json::array()}},
        {{"process", "load"},
         {"start_cycle", 60},
         {"end_cycle", 70},
         {"waiting", ordered_json::array()}}}},
      {"streams",
       {{{"stream", "a[1]"}, {"depth", 2}, {"writes", {10, 11, 21}}, {"reads", {20, 22, 30}}}}}};
}

constexpr std::int64_t kCycle = 100'000;  // picoseconds

struct Drawn {
  std::vector<ordered_json> lines = {run_line(5)};
  std::vector<ordered_json> waves = {waves_line(5)};
  std::map<std::string, Changes> signals() const {
    std::vector<ScheduledItem> items;
    for (const ordered_json& line : lines) {
      const double start = 11.0 * static_cast<double>(items.size());
      items.push_back({&line, start, start + 11, 11, "", {}});
    }
    return read_vcd(card_waves(items, waves));
  }
};

std::int64_t at_cycle(std::int64_t cycle) { return 1'000'000 + cycle * kCycle; }

TEST(CardWaves, AUnitStartsBehindItsLaunchAndIsDoneInItsLastCycle) {
  const auto signals = Drawn().signals();
  EXPECT_EQ(signals.at("card_0.fir_1.control.ap_start"),
            (Changes{{0, "x"}, {0, "0"}, {at_cycle(0), "1"}, {at_cycle(100), "0"}}));
  EXPECT_EQ(signals.at("card_0.fir_1.control.ap_idle"),
            (Changes{{0, "x"}, {0, "1"}, {at_cycle(0), "0"}, {at_cycle(100), "1"}}));
  EXPECT_EQ(signals.at("card_0.fir_1.control.ap_done"),
            (Changes{{0, "x"}, {0, "0"}, {at_cycle(99), "1"}, {at_cycle(100), "0"}}));
  EXPECT_EQ(signals.at("card_0.fir_1.control.ap_ready").back(),
            (std::pair{at_cycle(100), std::string("0")}));
}

TEST(CardWaves, RegistersShowArgumentsAndResults) {
  EXPECT_EQ(Drawn().signals().at("card_0.fir_1.registers.n"),
            (Changes{{0, "x"}, {0, "00001010"}, {at_cycle(100), "11111111"}}));
}

TEST(CardWaves, AStreamHoldsAValueUntilTheCycleAfterItsRead) {
  const auto signals = Drawn().signals();
  const std::string stream = "card_0.fir_1.stream_a_1.";
  EXPECT_EQ(signals.at(stream + "level"), (Changes{{0, "x"},
                                                   {at_cycle(0), "0"},
                                                   {at_cycle(10), "1"},
                                                   {at_cycle(11), "10"},
                                                   {at_cycle(23), "1"},
                                                   {at_cycle(31), "0"}}));
  EXPECT_EQ(signals.at(stream + "full"),
            (Changes{{0, "x"}, {at_cycle(0), "0"}, {at_cycle(11), "1"}, {at_cycle(23), "0"}}));
  EXPECT_EQ(signals.at(stream + "empty"),
            (Changes{{0, "x"}, {at_cycle(0), "1"}, {at_cycle(10), "0"}, {at_cycle(31), "1"}}));
}

TEST(CardWaves, ProcessesOfOneNameThatRunTogetherHaveScopesOfTheirOwn) {
  const auto signals = Drawn().signals();
  EXPECT_EQ(signals.at("card_0.fir_1.process_load.ap_start"),
            (Changes{{0, "x"}, {0, "0"}, {at_cycle(10), "1"}, {at_cycle(70), "0"}}));
  EXPECT_EQ(signals.at("card_0.fir_1.process_load.waits"),
            (Changes{{0, "x"}, {at_cycle(10), "0"}, {at_cycle(20), "1"}, {at_cycle(30), "0"}}));
  EXPECT_EQ(signals.at("card_0.fir_1.process_load_2.ap_done"),
            (Changes{{0, "x"}, {0, "0"}, {at_cycle(39), "1"}, {at_cycle(40), "0"}}));
}

TEST(CardWaves, LaterRunsGoOnInTheSameSignals) {
  Drawn drawn;
  drawn.lines.push_back(run_line(6));
  drawn.waves.push_back(waves_line(6));
  const auto signals = drawn.signals();
  const Changes& level = signals.at("card_0.fir_1.stream_a_1.level");
  EXPECT_EQ(level.size(), 10u);
  EXPECT_EQ(level.back().first, 11'000'000 + at_cycle(31));
  EXPECT_EQ(signals.count("card_0.fir_1.stream_a_1_2.level"), 0u);
}

TEST(CardWaves, WhatWasNotKeptIsUnknown) {
  Drawn drawn;
  drawn.waves[0]["complete_until_cycle"] = 15;
  EXPECT_EQ(drawn.signals().at("card_0.fir_1.stream_a_1.level"), (Changes{{0, "x"},
                                                                          {at_cycle(0), "0"},
                                                                          {at_cycle(10), "1"},
                                                                          {at_cycle(11), "10"},
                                                                          {at_cycle(15), "x"}}));
}

TEST(CardWaves, NamesThatBecomeEqualStayApart) {
  Drawn drawn;
  ordered_json other = drawn.waves[0]["streams"][0];
  other["stream"] = "a(1)";
  drawn.waves[0]["streams"].push_back(other);
  const auto signals = drawn.signals();
  EXPECT_EQ(signals.count("card_0.fir_1.stream_a_1.level"), 1u);
  EXPECT_EQ(signals.count("card_0.fir_1.stream_a_1_2.level"), 1u);
}

TEST(CardWaves, NamesHaveNoLetterThatViewersReadAsStructure) {
  EXPECT_EQ(wave_name("lanes[3][12]"), "lanes_3_12");
  EXPECT_EQ(wave_name("a.b c"), "a_b_c");
  EXPECT_EQ(wave_name("last_"), "last_");
  EXPECT_EQ(wave_name("4x"), "_4x");
  EXPECT_EQ(wave_name(""), "_");
  EXPECT_EQ(wave_name("$end\n"), "$end");
}

TEST(CardWaves, RunsWithoutWavesAreNotDrawn) {
  Drawn drawn;
  drawn.waves[0]["begun_ns"] = 4;
  std::vector<ScheduledItem> items = {{&drawn.lines[0], 0, 11, 11, "", {}}};
  EXPECT_EQ(card_waves(items, drawn.waves), "");
}

TEST(WaveDump, GivesManySignalsDifferentNames) {
  WaveDump dump;
  for (int index = 0; index < 10'000; ++index) {
    dump.change(dump.signal({"s"}, "n" + std::to_string(index), 1), index, true);
  }
  EXPECT_EQ(read_vcd(dump.text("many")).size(), 10'000u);
  EXPECT_EQ(dump.signal({"s"}, "n5", 1), 5);
}

}  // namespace
}  // namespace tandem::apps
