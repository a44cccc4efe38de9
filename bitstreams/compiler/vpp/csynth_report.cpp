// SPDX-License-Identifier: Apache-2.0
//
// Device memory is that of a DDR4 bank.
#include "bitstreams/compiler/vpp/csynth_report.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>

#include "bitstreams/compiler/timing/estimate.h"
#include "bitstreams/compiler/timing/static_counts.h"
#include "bitstreams/compiler/vpp/timed_copy.h"
#include "bitstreams/compiler/vpp/work_folder.h"
#include "common/error.h"

namespace tandem::vpp {
namespace {

constexpr double kBankBytes = 16.0 * (1 << 30);

timing::TimedCard report_card(double clock_mhz) {
  timing::TimedCard card;
  card.clock_mhz = clock_mhz;
  card.launch_us = 0;
  card.banks = {timing::timed_bank("DDR[0]", 0, static_cast<std::uint64_t>(kBankBytes))};
  return card;
}

std::string place_of_loop(const timing::LoopTime& loop) {
  return loop.file.substr(loop.file.rfind('/') + 1) + ":" + std::to_string(loop.line);
}

std::string decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

// The cells of a table's row; the first one begins at the left.
std::string row_of(const std::vector<std::string>& cells) {
  constexpr std::size_t kWidths[] = {24, 8, 4, 6, 10};
  std::string text = "|";
  for (std::size_t index = 0; index < cells.size(); ++index) {
    const std::size_t width = index < std::size(kWidths) ? kWidths[index] : 0;
    const std::string blanks(width - std::min(width, cells[index].size()), ' ');
    text += " " + (index == 0 ? cells[index] + blanks : blanks + cells[index]);
    if (index + 1 < cells.size()) text += " |";
  }
  return text + "\n";
}

std::string loop_row(const timing::LoopTime& loop, bool is_bounded) {
  return row_of({place_of_loop(loop),
                 is_bounded ? decimal(loop.trips / std::max(1.0, loop.entries), 0) : "?",
                 loop.ii > 0 ? decimal(loop.ii, 0) : "no", decimal(loop.depth, 0),
                 is_bounded ? decimal(loop.cycles, 0) : "?", loop.why});
}

double clock_of(const std::string& text) {
  double nanoseconds = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), nanoseconds);
  if (code != std::errc() || end != text.data() + text.size() || !(nanoseconds > 0.1)) {
    throw Error("v++", std::string(kCsynthReport) + ": '" + text +
                           "' is not a clock period in nanoseconds");
  }
  return 1000 / nanoseconds;
}

}  // namespace

std::string csynth_report(const timing::Analysis& analysis, const std::string& top) {
  std::vector<timing::TimedArgument> ports;
  for (const auto& [argument, bundle] : analysis.ports) ports.push_back({argument, bundle, 0});
  const timing::StaticCounts counts = timing::static_counts(analysis, ports);
  const double clock_mhz = analysis.model.clock_mhz;
  const timing::RunTime time =
      timing::estimate(analysis.model, counts.counts, counts.arguments, report_card(clock_mhz));
  std::string text = "== Tandem's time model of '" + top + "' (no synthesis), clock " +
                     decimal(1000 / clock_mhz, 2) + " ns\n" +
                     (counts.unbounded.empty() ? "latency " : "latency at least ") +
                     decimal(time.cycles, 0) + " cycles = " + decimal(time.cycles / clock_mhz, 3) +
                     " us a call; limited by " + time.limit + ": " + time.why + "\n";
  if (!time.loops.empty()) {
    text += row_of({"loop", "trips", "II", "depth", "cycles", "reason of the II"});
  }
  for (const timing::LoopTime& loop : time.loops) {
    const bool is_bounded = std::find(counts.unbounded.begin(), counts.unbounded.end(),
                                      place_of_loop(loop)) == counts.unbounded.end();
    text += loop_row(loop, is_bounded);
  }
  if (!counts.unbounded.empty()) {
    text += "'?': the trips are not constant; one iteration is counted\n";
  }
  for (const std::string& note : time.unknown) text += "not known: " + note + "\n";
  for (const timing::Advice& each : time.advice) {
    text += "would save " + decimal(each.saves_us * clock_mhz, 0) + " cycles: " + each.text + "\n";
  }
  return text;
}

int print_csynth_report(const std::vector<std::string>& words, const std::string& clang) {
  if (words.size() < 3) {
    throw Error("v++", std::string(kCsynthReport) + " needs TOP CLOCK_NS SOURCE [FLAG...]");
  }
  TimedSource source;
  source.clang = find_timing_clang(clang);
  if (source.clang.empty()) {
    throw Error("v++", "the time model needs clang 14 or later; install the package clang");
  }
  const WorkFolder folder("");
  source.kernel = words[0];
  source.clock_mhz = clock_of(words[1]);
  source.complete = [](std::string text) { return text; };
  source.job.source = words[2];
  source.job.folder = folder.path();
  source.job.stem = std::filesystem::path(words[2]).stem().string();
  source.job.flags.assign(words.begin() + 3, words.end());
  const timing::Analysis analysis = analyse_timed(source);
  if (analysis.model.functions.empty()) return kNotHere;
  std::printf("%s", csynth_report(analysis, words[0]).c_str());
  return 0;
}

}  // namespace tandem::vpp
