// SPDX-License-Identifier: Apache-2.0
//
// Reads a timeline back: its tracks by name. Checks that any two spans of a track either nest or
// are disjoint.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace tandem::test {

struct TimelineSpan {
  std::string name;
  double begin = 0, end = 0;  // microseconds
  nlohmann::json args;
};

// By device and track.
using TimelineTracks = std::map<std::pair<std::string, std::string>, std::vector<TimelineSpan>>;

inline TimelineTracks read_timeline(const std::string& path) {
  const auto file = nlohmann::json::parse(std::ifstream(path));
  std::map<int, std::string> devices;
  std::map<std::pair<int, int>, std::string> names;
  TimelineTracks tracks;
  for (const auto& event : file.at("traceEvents")) {
    const int device = event.at("pid"), track = event.at("tid");
    if (event.at("ph") == "M") {
      const std::string name = event.at("args").at("name");
      if (event.at("name") == "process_name") devices[device] = name;
      if (event.at("name") == "thread_name") names[{device, track}] = name;
      continue;
    }
    EXPECT_EQ(event.at("ph"), "X");
    const double begin = event.at("ts"), duration = event.at("dur");
    EXPECT_GE(duration, 0);
    tracks[{devices.at(device), names.at({device, track})}].push_back(
        {event.at("name"), begin, begin + duration, event.value("args", nlohmann::json::object())});
  }
  return tracks;
}

// Each span lies inside the one that it begins in.
inline void expect_nested(TimelineTracks tracks) {
  constexpr double kRounding = 2e-3;  // microseconds
  for (auto& [id, spans] : tracks) {
    std::ranges::stable_sort(spans, [](const TimelineSpan& a, const TimelineSpan& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<const TimelineSpan*> open;
    for (const TimelineSpan& span : spans) {
      while (!open.empty() && open.back()->end <= span.begin + kRounding) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(span.end, open.back()->end + kRounding)
            << span.name << " reaches out of " << open.back()->name << " on " << id.first << ", "
            << id.second;
      }
      open.push_back(&span);
    }
  }
}

}  // namespace tandem::test
