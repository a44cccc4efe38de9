// SPDX-License-Identifier: Apache-2.0
//
// Missing members count as zero or empty, because a report may come from another version.
#include "apps/card/card_times.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "apps/card/card_report.h"
#include "common/counted.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

using nlohmann::ordered_json;

double number_member(const ordered_json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

ordered_json list_of(const ordered_json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? *found : ordered_json::array();
}

const ordered_json* longest_of(const std::vector<const ordered_json*>& runs) {
  return *std::max_element(runs.begin(), runs.end(), [](const auto* a, const auto* b) {
    return number_member(*a, "modelled_us") < number_member(*b, "modelled_us");
  });
}

std::string loop_text(const ordered_json& loop) {
  const std::string file = text_member(loop, "file");
  const double ii = number_member(loop, "ii");
  return fmt::format(
      "    loop {}:{}: II {}, depth {:.0f}, {:.0f} iterations in {}: {:.0f} cycles; {}\n",
      file.substr(file.rfind('/') + 1), number_member(loop, "line"),
      ii > 0 ? fmt::format("{:.0f}", ii) : "none", number_member(loop, "depth"),
      number_member(loop, "trips"),
      counted(static_cast<std::int64_t>(number_member(loop, "entries")), "run"),
      number_member(loop, "cycles"), text_member(loop, "why"));
}

std::string port_text(const ordered_json& port) {
  return fmt::format("    port {} ({}, {}): {:.0f} bytes in {}, {:.2f} GB/s, {:.0f}% of the bank\n",
                     text_member(port, "argument"), text_member(port, "bank"),
                     text_member(port, "direction"), number_member(port, "bytes"),
                     counted(static_cast<std::int64_t>(number_member(port, "bursts")), "burst"),
                     number_member(port, "bandwidth"), 100 * number_member(port, "share_of_peak"));
}

std::string unit_text(const std::vector<const ordered_json*>& runs) {
  double sum = 0, low = 0, high = 0;
  for (const ordered_json* const run : runs) {
    sum += number_member(*run, "modelled_us");
    low += number_member(*run, "modelled_us_low");
    high += number_member(*run, "modelled_us_high");
  }
  const ordered_json& run = *longest_of(runs);
  std::string text = fmt::format("kernel '{}', unit '{}': {}, modelled {:.3f} us",
                                 text_member(run, "kernel"), text_member(run, "unit"),
                                 counted(static_cast<std::int64_t>(runs.size()), "run"), sum);
  if (low < sum || high > sum) text += fmt::format(" ({:.3f} to {:.3f})", low, high);
  text +=
      fmt::format("\n    limited by {}: {}\n", text_member(run, "limit"), text_member(run, "why"));
  for (const ordered_json& loop : list_of(run, "loops")) text += loop_text(loop);
  for (const ordered_json& port : list_of(run, "ports")) text += port_text(port);
  for (const ordered_json& note : list_of(run, "unknown")) {
    if (note.is_string()) text += "    not known: " + note.get<std::string>() + "\n";
  }
  return text;
}

}  // namespace

std::vector<ordered_json> read_card_times(const std::string& path, std::uint64_t begin_bytes) {
  std::ifstream in(path);
  int number = 0;
  std::uint64_t at = 0;
  std::vector<ordered_json> runs;
  for (std::string text; std::getline(in, text);) {
    ++number;
    const bool is_older = at < begin_bytes;
    at += text.size() + 1;
    if (is_older || text.find(kTimeKind) == std::string::npos) continue;
    ordered_json line = ordered_json::parse(text, nullptr, false);
    if (!line.is_object()) {
      throw Error("card", path + ":" + std::to_string(number) + ": not a line of JSON");
    }
    if (text_member(line, "kind") == kTimeKind) runs.push_back(std::move(line));
  }
  return runs;
}

std::string times_text(const std::vector<ordered_json>& runs) {
  std::map<std::pair<std::string, std::string>, std::vector<const ordered_json*>> units;
  for (const ordered_json& run : runs) {
    units[{text_member(run, "kernel"), text_member(run, "unit")}].push_back(&run);
  }
  std::string text;
  for (const auto& [unit, each] : units) text += unit_text(each);
  return text;
}

void add_times(const std::vector<ordered_json>& runs, ordered_json& report) {
  if (runs.empty()) return;
  double sum = 0;
  std::vector<const ordered_json*> all;
  for (const ordered_json& run : runs) {
    sum += number_member(run, "modelled_us");
    all.push_back(&run);
  }
  const ordered_json& longest = *longest_of(all);
  report["modelled_us"] = sum;
  report["limit"] = text_member(longest, "limit");
  report["loops"] = list_of(longest, "loops");
  report["ports"] = list_of(longest, "ports");
  report["runs"] = runs;
}

}  // namespace tandem::apps
