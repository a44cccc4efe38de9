// SPDX-License-Identifier: Apache-2.0
//
// The ranking as text, for --explain and the report of a call.
#include <algorithm>
#include <cstdio>

#include "collectives/selection/selector.h"

namespace tandem::collectives {
namespace {

template <typename... Args>
std::string print(const char* format, Args... args) {
  char line[256];
  std::snprintf(line, sizeof(line), format, args...);
  return line;
}

std::string milliseconds(double seconds) {
  return seconds > 0 ? print("%.3f", seconds * 1e3) : std::string("-");
}

}  // namespace

std::string Selector::explanation() const {
  if (ranking_.empty()) return "no call was made yet\n";
  const auto units = static_cast<double>(std::max<std::uint64_t>(problem_.domain.num_units, 1));
  const double own = problem_.union_entries[1];
  const double all = problem_.union_entries.back();
  std::string text =
      print("%d ranks, %.0f units of %u values, density %.4g %%, of the union %.4g %%",
            problem_.world, units, problem_.domain.width, 100 * own / units, 100 * all / units);
  text += print("; even ranges: push imbalance %.2f, pull %.2f\n", problem_.even_push_imbalance,
                problem_.even_pull_imbalance);
  text += print("%-26s %6s %12s %13s %12s %12s %6s\n", "scheme", "steps", "sent MB", "predicted ms",
                "expected ms", "measured ms", "calls");
  for (const Candidate& candidate : ranking_) {
    const std::string name(candidate.scheme->name());
    if (!candidate.refusal.empty()) {
      text += print("%-26s ", name.c_str()) + "cannot run: " + candidate.refusal + "\n";
      continue;
    }
    text += print("%-26s %6.0f %12.3f %13s %12s %12s %6d", name.c_str(), candidate.cost.steps,
                  candidate.cost.bytes_sent / 1e6, milliseconds(candidate.cost.seconds).c_str(),
                  milliseconds(candidate.expected_s).c_str(),
                  milliseconds(candidate.measured_s).c_str(), candidate.num_measured);
    text += candidate.scheme == chosen_ ? "  <- chosen: " + reason_ + "\n" : "\n";
  }
  text +=
      "predicted: by the scheme's model alone; expected: corrected by what was measured; "
      "measured:\n"
      "median of the last calls (at most 8) before this one, on the slowest rank\n";
  if (own_seconds_ > 0) {
    text += print(
        "this call took %s ms here without the exchange of headers, sent %.3f MB and received %.3f "
        "MB\n",
        milliseconds(own_seconds_).c_str(), static_cast<double>(own_sent_) / 1e6,
        static_cast<double>(own_received_) / 1e6);
  }
  return text;
}

}  // namespace tandem::collectives
