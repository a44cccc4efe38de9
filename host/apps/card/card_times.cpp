// SPDX-License-Identifier: Apache-2.0
//
// Missing members count as zero or empty, because a report may come from another version.
#include "apps/card/card_times.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "apps/card/card_report.h"
#include "apps/card/card_schedule.h"
#include "common/counted.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

using nlohmann::ordered_json;

constexpr double kSlower = 1.001;  // by which a run is told to share a bank

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

std::string stream_text(const ordered_json& stream) {
  const std::string file = text_member(stream, "file");
  const double needed = number_member(stream, "sufficient_depth");
  return fmt::format(
      "    stream {} ({}:{}): depth {:.0f}, {:.0f} values; its writer waits {:.0f} cycles, its "
      "reader "
      "{:.0f}{}\n",
      text_member(stream, "stream"), file.substr(file.rfind('/') + 1),
      number_member(stream, "line"), number_member(stream, "depth"),
      number_member(stream, "values"), number_member(stream, "full_cycles"),
      number_member(stream, "empty_cycles"),
      needed > number_member(stream, "depth") ? fmt::format("; {:.0f} always suffice", needed)
                                              : "");
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
  for (const ordered_json& loop : list_member(run, "loops")) text += loop_text(loop);
  for (const ordered_json& port : list_member(run, "ports")) text += port_text(port);
  for (const ordered_json& stream : list_member(run, "streams")) text += stream_text(stream);
  for (const ordered_json& each : list_member(run, "advice")) {
    text += fmt::format("    would save {:.3f} us: {}\n", number_member(each, "saves_us"),
                        text_member(each, "text"));
  }
  for (const ordered_json& note : list_member(run, "unknown")) {
    if (note.is_string()) text += "    not known: " + note.get<std::string>() + "\n";
  }
  return text;
}

std::string transfers_text(const ordered_json& transfers) {
  std::string text;
  for (const ordered_json& each : transfers) {
    text += fmt::format(
        "{} {}, {:.0f} bytes: modelled {:.3f} us ({:.3f} to {:.3f})\n",
        counted(static_cast<std::int64_t>(number_member(each, "copies")), "transfer"),
        text_member(each, "direction") == "to_device" ? "to the card" : "to the host",
        number_member(each, "bytes"), number_member(each, "modelled_us"),
        number_member(each, "modelled_us_low"), number_member(each, "modelled_us_high"));
  }
  return text;
}

// By direction.
ordered_json transfers_of(const std::vector<ordered_json>& lines) {
  ordered_json result = ordered_json::array();
  for (const char* direction : {"to_device", "from_device"}) {
    ordered_json sum = {{"direction", direction}, {"copies", 0}};
    for (const char* name : {"bytes", "modelled_us", "modelled_us_low", "modelled_us_high"}) {
      sum[name] = 0.0;
    }
    for (const ordered_json& line : lines) {
      const bool is_it = text_member(line, "kind") == kTransferKind;
      if (!is_it || text_member(line, "direction") != direction) continue;
      sum["copies"] = sum["copies"].get<int>() + 1;
      for (const char* name : {"bytes", "modelled_us", "modelled_us_low", "modelled_us_high"}) {
        sum[name] = number_member(sum, name) + number_member(line, name);
      }
    }
    if (sum["copies"] != 0) result.push_back(std::move(sum));
  }
  return result;
}

// A run that shared a bank takes longer than its line says.
ordered_json lengthened(const ScheduledItem& item) {
  ordered_json run = *item.line;
  run["start_us"] = item.start_us;
  run["alone_us"] = item.alone_us;
  const double us = item.end_us - item.start_us;
  if (item.alone_us <= 0 || us <= item.alone_us * kSlower) return run;
  for (const char* name : {"modelled_us", "modelled_us_low", "modelled_us_high"}) {
    run[name] = number_member(run, name) + us - item.alone_us;
  }
  if (run.contains("ports")) {
    for (ordered_json& port : run["ports"]) {
      for (const char* name : {"bandwidth", "share_of_peak"}) {
        port[name] = number_member(port, name) * item.alone_us / us;
      }
    }
  }
  run["limit"] = "channel " + item.shared;
  run["why"] = fmt::format("{} at the same time; it alone takes {:.3f} us",
                           item.with.empty() ? "another run uses it"
                                             : fmt::format("{} use it", fmt::join(item.with, ", ")),
                           item.alone_us);
  return run;
}

struct Placed {
  std::vector<ordered_json> runs;  // in the order of their lines
  double makespan_us = 0;
};

Placed placed(const std::vector<ordered_json>& lines) {
  Placed result;
  std::map<const ordered_json*, const ScheduledItem*> by_line;
  const std::vector<ScheduledItem> items = schedule_card_times(lines);
  for (const ScheduledItem& item : items) {
    by_line[item.line] = &item;
    result.makespan_us = std::max(result.makespan_us, item.end_us);
  }
  for (const ordered_json& line : lines) {
    if (text_member(line, "kind") == kTimeKind) {
      result.runs.push_back(lengthened(*by_line.at(&line)));
    }
  }
  return result;
}

std::vector<ordered_json> read_lines_of(const std::vector<std::string>& kinds,
                                        const std::string& path, std::uint64_t begin_bytes) {
  std::ifstream in(path);
  int number = 0;
  std::uint64_t at = 0;
  std::vector<ordered_json> lines;
  for (std::string text; std::getline(in, text);) {
    ++number;
    const bool is_older = at < begin_bytes;
    at += text.size() + 1;
    const bool may_be = std::any_of(kinds.begin(), kinds.end(), [&text](const std::string& kind) {
      return text.find(kind) != std::string::npos;
    });
    if (is_older || !may_be) continue;
    ordered_json line = ordered_json::parse(text, nullptr, false);
    if (!line.is_object()) {
      throw Error("card", path + ":" + std::to_string(number) + ": not a line of JSON");
    }
    const std::string kind = text_member(line, "kind");
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace

double number_member(const ordered_json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

ordered_json list_member(const ordered_json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? *found : ordered_json::array();
}

std::vector<ordered_json> read_card_times(const std::string& path, std::uint64_t begin_bytes) {
  return read_lines_of({kTimeKind, kTransferKind}, path, begin_bytes);
}

std::vector<ordered_json> read_card_waves(const std::string& path, std::uint64_t begin_bytes) {
  return read_lines_of({kWavesKind}, path, begin_bytes);
}

std::string times_text(const std::vector<ordered_json>& lines) {
  const Placed all = placed(lines);
  std::map<std::pair<std::string, std::string>, std::vector<const ordered_json*>> units;
  for (const ordered_json& run : all.runs) {
    units[{text_member(run, "kernel"), text_member(run, "unit")}].push_back(&run);
  }
  std::string text;
  for (const auto& [unit, each] : units) text += unit_text(each);
  return text + transfers_text(transfers_of(lines));
}

void add_times(const std::vector<ordered_json>& lines, ordered_json& report) {
  if (lines.empty()) return;
  const Placed placed_lines = placed(lines);
  report["transfers"] = transfers_of(lines);
  report["makespan_us"] = placed_lines.makespan_us;
  if (placed_lines.runs.empty()) return;
  double sum = 0;
  std::vector<const ordered_json*> all;
  for (const ordered_json& run : placed_lines.runs) {
    sum += number_member(run, "modelled_us");
    all.push_back(&run);
  }
  const ordered_json& longest = *longest_of(all);
  report["modelled_us"] = sum;
  report["limit"] = text_member(longest, "limit");
  report["loops"] = list_member(longest, "loops");
  report["ports"] = list_member(longest, "ports");
  for (const char* part : {"channels", "streams", "advice"}) {
    report[part] = list_member(longest, part);
  }
  report["runs"] = placed_lines.runs;
}

}  // namespace tandem::apps
