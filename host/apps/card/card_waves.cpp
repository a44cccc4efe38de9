// SPDX-License-Identifier: Apache-2.0
//
// A stream holds a value from its write until the cycle after its read, as in the replay.
#include "apps/card/card_waves.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "apps/card/card_report.h"
#include "apps/card/card_times.h"
#include "apps/card/wave_dump.h"

namespace tandem::apps {
namespace {

using nlohmann::ordered_json;

constexpr double kPicoseconds = 1e6;  // of a microsecond
constexpr int kLevelBits = 32;

std::string binary_of(std::uint64_t value) {
  std::string text;
  do {
    text.insert(text.begin(), value % 2 == 0 ? '0' : '1');
    value /= 2;
  } while (value > 0);
  return text;
}

// "0a" to "00001010".
std::string binary_of(const std::string& hexadecimal) {
  std::string text;
  for (const char digit : hexadecimal) {
    const int value =
        std::isdigit(static_cast<unsigned char>(digit)) != 0 ? digit - '0' : digit - 'a' + 10;
    for (int bit = 3; bit >= 0; --bit) text += (value >> bit & 1) != 0 ? '1' : '0';
  }
  return text;
}

// Different names stay different, and a name keeps its scope in all runs.
class ScopeNames {
 public:
  std::string of(const std::string& kind, const std::string& name, int row) {
    const auto known = names_.find({kind, name, row});
    if (known != names_.end()) return known->second;
    const std::string base =
        kind + "_" + wave_name(name) + (row > 0 ? "_" + std::to_string(row + 1) : "");
    std::string unique = base;
    for (int number = 2; !taken_.insert(unique).second; ++number) {
      unique = base + "_" + std::to_string(number);
    }
    return names_[{kind, name, row}] = unique;
  }

 private:
  std::map<std::tuple<std::string, std::string, int>, std::string> names_;
  std::set<std::string> taken_;
};

// Those of one name that live at the same time have different rows.
class WaveRows {
 public:
  int row(const std::string& name, double start, double end) {
    std::vector<double>& ends = ends_[name];
    for (std::size_t row = 0; row < ends.size(); ++row) {
      if (ends[row] > start) continue;
      ends[row] = end;
      return static_cast<int>(row);
    }
    ends.push_back(end);
    return static_cast<int>(ends.size()) - 1;
  }

 private:
  std::map<std::string, std::vector<double>> ends_;
};

std::vector<double> cycles_of(const ordered_json& object, const char* name) {
  std::vector<double> cycles;
  for (const ordered_json& each : list_member(object, name)) {
    if (each.is_number()) cycles.push_back(each.get<double>());
  }
  return cycles;
}

// One run of a unit.
class RunDrawing {
 public:
  RunDrawing(const ScheduledItem& item, const ordered_json& waves, std::vector<std::string> scopes,
             ScopeNames& names, WaveDump& dump)
      : item_(item), waves_(waves), scopes_(std::move(scopes)), names_(names), dump_(dump) {
    const double cycles = number_member(waves, "cycles");
    kernel_us_ = std::min(item.end_us, item.start_us + number_member(*item.line, "launch_us"));
    us_per_cycle_ = cycles > 0 ? (item.end_us - kernel_us_) / cycles : 0;
    cycles_ = cycles;
    if (waves.contains("complete_until_cycle")) {
      complete_ = number_member(waves, "complete_until_cycle");
    }
  }

  void draw() {
    draw_module("control", 0, cycles_);
    change("control", "ap_ready", 0, false);
    change("control", "ap_ready", std::max(0.0, cycles_ - 1), true);
    change("control", "ap_ready", cycles_, false);
    draw_registers();
    draw_processes();
    draw_streams();
  }

 private:
  std::int64_t picoseconds(double cycle) const {
    return std::llround((kernel_us_ + cycle * us_per_cycle_) * kPicoseconds);
  }

  int signal(const std::string& scope, const std::string& name, int bits) {
    std::vector<std::string> path = scopes_;
    path.push_back(scope);
    return dump_.signal(path, name, bits);
  }

  void change(const std::string& scope, const std::string& name, double cycle, bool value) {
    dump_.change(signal(scope, name, 1), picoseconds(cycle), value);
  }

  // ap_start is held until the end, as the handshake asks for; ap_done is one cycle long.
  void draw_module(const std::string& scope, double start, double end) {
    for (const char* const name : {"ap_start", "ap_done", "ap_idle"}) {
      dump_.change(signal(scope, name, 1), 0, std::string(name) == "ap_idle");
    }
    change(scope, "ap_start", start, true);
    change(scope, "ap_idle", start, false);
    change(scope, "ap_done", start, false);
    change(scope, "ap_done", std::max(start, end - 1), true);
    change(scope, "ap_done", end, false);
    change(scope, "ap_start", end, false);
    change(scope, "ap_idle", end, true);
  }

  void draw_registers() {
    for (const ordered_json& each : list_member(waves_, "registers")) {
      const std::string before = text_member(each, "before"), after = text_member(each, "after");
      if (before.empty()) continue;
      const int bits = static_cast<int>(before.size()) * 4;
      const int number = signal("registers", wave_name(text_member(each, "name")), bits);
      dump_.change(number, std::llround(item_.start_us * kPicoseconds), binary_of(before));
      dump_.change(number, picoseconds(cycles_), binary_of(after));
    }
  }

  void draw_processes() {
    const ordered_json list = list_member(waves_, "processes");
    std::vector<ordered_json> processes(list.begin(), list.end());
    std::stable_sort(processes.begin(), processes.end(),
                     [](const ordered_json& a, const ordered_json& b) {
                       return number_member(a, "start_cycle") < number_member(b, "start_cycle");
                     });
    WaveRows rows;
    for (const ordered_json& each : processes) {
      const double start = number_member(each, "start_cycle");
      const double end = number_member(each, "end_cycle");
      const std::string name = text_member(each, "process");
      const std::string scope = names_.of("process", name, rows.row(name, start, end));
      draw_module(scope, start, end);
      change(scope, "waits", start, false);
      const std::vector<double> waiting = cycles_of(each, "waiting");
      for (std::size_t at = 0; at + 1 < waiting.size(); at += 2) {
        change(scope, "waits", waiting[at], true);
        change(scope, "waits", waiting[at + 1], false);
      }
    }
  }

  void draw_streams() {
    WaveRows rows;
    for (const ordered_json& each : list_member(waves_, "streams")) {
      const std::vector<double> writes = cycles_of(each, "writes");
      std::vector<double> frees = cycles_of(each, "reads");
      for (double& cycle : frees) cycle += 1;
      const double start = writes.empty() ? 0 : writes.front();
      const double end = frees.size() < writes.size() ? cycles_ : frees.empty() ? 0 : frees.back();
      const std::string name = text_member(each, "stream");
      draw_stream(names_.of("stream", name.empty() ? "unnamed" : name, rows.row(name, start, end)),
                  writes, frees, number_member(each, "depth"));
    }
  }

  void put_level(const std::string& scope, std::int64_t at, std::uint64_t held, double depth) {
    dump_.change(signal(scope, "level", kLevelBits), at, binary_of(held));
    dump_.change(signal(scope, "full", 1), at, static_cast<double>(held) >= depth);
    dump_.change(signal(scope, "empty", 1), at, held == 0);
  }

  void draw_stream(const std::string& scope, const std::vector<double>& writes,
                   const std::vector<double>& frees, double depth) {
    put_level(scope, picoseconds(0), 0, depth);
    std::uint64_t held = 0;
    std::size_t written = 0, freed = 0;
    while (written < writes.size() || freed < frees.size()) {
      const double write = written < writes.size() ? writes[written] : kNever;
      const double free = freed < frees.size() ? frees[freed] : kNever;
      const double at = std::min(write, free);
      if (at >= complete_) break;
      if (free <= write) {
        ++freed;
        if (held > 0) --held;
      } else {
        ++written;
        ++held;
      }
      put_level(scope, picoseconds(at), held, depth);
    }
    if (complete_ == kNever) return;
    for (const std::string name : {"level", "full", "empty"}) {
      const int bits = name == "level" ? kLevelBits : 1;
      dump_.change(signal(scope, name, bits), picoseconds(complete_), std::string("x"));
    }
  }

  static constexpr double kNever = std::numeric_limits<double>::infinity();
  const ScheduledItem& item_;
  const ordered_json& waves_;
  const std::vector<std::string> scopes_;
  ScopeNames& names_;
  WaveDump& dump_;
  double kernel_us_ = 0, us_per_cycle_ = 0, cycles_ = 0;
  double complete_ = kNever;
};

using RunKey = std::tuple<double, std::string, double>;

RunKey key_of(const ordered_json& line) {
  return {number_member(line, "process"), text_member(line, "unit"),
          number_member(line, "begun_ns")};
}

}  // namespace

std::string wave_name(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const bool stays = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
    if (stays || (!result.empty() && result.back() != '_')) result += stays ? c : '_';
  }
  while (result.size() > 1 && result.back() == '_' && name.back() != '_') result.pop_back();
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0])) != 0) {
    result.insert(result.begin(), '_');
  }
  return result;
}

std::string card_waves(const std::vector<ScheduledItem>& items,
                       const std::vector<ordered_json>& waves) {
  std::map<RunKey, const ordered_json*> by_run;
  std::map<double, int> cards;  // numbers by process, in the order of their first lines
  for (const ordered_json& each : waves) {
    by_run[key_of(each)] = &each;
    cards.try_emplace(number_member(each, "process"), static_cast<int>(cards.size()));
  }
  WaveDump dump;
  std::map<std::string, ScopeNames> names;
  bool any = false;
  for (const ScheduledItem& item : items) {
    const auto found = by_run.find(key_of(*item.line));
    if (found == by_run.end() || text_member(*item.line, "kind") != kTimeKind) continue;
    any = true;
    const std::string card =
        "card_" + std::to_string(cards.at(number_member(*found->second, "process")));
    const std::string unit = wave_name(text_member(*item.line, "unit"));
    RunDrawing(item, *found->second, {card, unit}, names[card + " " + unit], dump).draw();
  }
  return any ? dump.text("modelled runs of emulated cards; values of streams are not kept") : "";
}

}  // namespace tandem::apps
