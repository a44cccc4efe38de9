// SPDX-License-Identifier: Apache-2.0
//
// If exactly one process waits for data, and no other waits for a stream, then no process can write
// the value. So it is a read after the last value.
#include "emulation/card/units/run_report.h"

#include <algorithm>

namespace tandem::emulation {
namespace {

using hls_runtime::LeftValues;
using hls_runtime::NeededDepth;
using hls_runtime::Place;
using hls_runtime::RunFindings;
using hls_runtime::StandingWait;

std::string with_place(const std::string& text, const Place& place) {
  return place.line > 0 ? text + " (" + place.file + ":" + std::to_string(place.line) + ")" : text;
}

std::string place_members(const Place& place) {
  const bool known = place.line > 0;
  return "\"file\": " + (known ? json_string(place.file) : "null") +
         ", \"line\": " + (known ? std::to_string(place.line) : "null");
}

std::string cycle_of(const std::vector<StandingWait>& waits) {
  std::string out = "[";
  for (const StandingWait& wait : waits) {
    out += (out.size() > 1 ? ", " : "") + std::string("{\"unit\": ") + json_string(wait.unit) +
           ", \"process\": " + json_string(wait.process) +
           ", \"stream\": " + json_string(wait.stream) +
           ", \"waits_for\": " + (wait.for_data ? "\"data\"" : "\"space\"") +
           ", \"held\": " + std::to_string(wait.held) +
           ", \"depth\": " + std::to_string(wait.depth) + ", " + place_members(wait.place) + "}";
  }
  return out + "]";
}

std::string depths_of(const std::vector<NeededDepth>& depths) {
  std::string out = "{";
  for (const NeededDepth& needed : depths) {
    out += (out.size() > 1 ? ", " : "") + json_string(needed.stream) + ": " +
           std::to_string(needed.depth);
  }
  return out + "}";
}

std::string texts_of(const std::vector<StandingWait>& waits) {
  std::string out;
  for (const StandingWait& wait : waits) {
    out += out.empty() ? "" : "; ";
    out +=
        with_place("process '" + wait.process + "' waits for " +
                       (wait.for_data ? "data in" : "space in") + " stream '" + wait.stream + "'",
                   wait.place);
  }
  return out;
}

Finding deadlock_of(const RunFindings& run) {
  Finding finding;
  const bool alone = run.waits.size() == 1 && run.waits[0].for_data;
  finding.kind = alone ? "read_empty" : "deadlock";
  finding.severity = "error";
  finding.message = texts_of(run.waits) +
                    (alone ? "; nothing writes another value: read as many values as are written"
                           : "; none of them can continue: change the order of reads and writes");
  return finding;
}

// Where the kernel stands because a stream is too shallow.
const StandingWait& first_for_space(const RunFindings& run) {
  const auto found = std::find_if(run.waits.begin(), run.waits.end(),
                                  [](const StandingWait& wait) { return !wait.for_data; });
  return found == run.waits.end() ? run.waits[0] : *found;
}

Finding shallow_of(const RunFindings& run) {
  Finding finding;
  finding.kind = "deadlock";
  finding.severity = "warning";
  finding.message =
      "streams exceeded their depths, so that the kernel could continue; hardware stalls: " +
      texts_of(run.waits) + "; give";
  for (const NeededDepth& needed : run.depths) {
    const bool first = &needed == run.depths.data();
    finding.message += with_place(std::string(first ? "" : ",") + " stream '" + needed.stream +
                                      "' the depth " + std::to_string(needed.depth),
                                  needed.place);
  }
  return finding;
}

// `remark`: what becomes of them.
Finding leftover_of(const LeftValues& left, const std::string& remark) {
  Finding finding;
  finding.kind = "leftover_tokens";
  finding.severity = "warning";
  finding.file = left.place.file;
  finding.line = left.place.line;
  finding.stream = left.stream;
  finding.message = "stream '" + left.stream + "' ends with " + std::to_string(left.held) +
                    (left.held == 1 ? " value" : " values") + " that nobody read; " + remark +
                    ": read as many values as are written";
  finding.more = {{"stream", json_string(left.stream)}, {"held", std::to_string(left.held)}};
  return finding;
}

}  // namespace

std::vector<Finding> findings_of(const RunFindings& run, bool deadlocked, const std::string& kernel,
                                 const std::string& unit) {
  std::vector<Finding> findings;
  if (deadlocked) {
    findings.push_back(deadlock_of(run));
  } else if (!run.depths.empty()) {
    findings.push_back(shallow_of(run));
  }
  for (Finding& stopped : findings) {
    stopped.more = {{"cycle", cycle_of(run.waits)}, {"depths_needed", depths_of(run.depths)}};
    if (run.waits.empty()) continue;
    const StandingWait& wait = stopped.severity == "error" ? run.waits[0] : first_for_space(run);
    stopped.file = wait.place.file;
    stopped.line = wait.place.line;
    stopped.stream = wait.stream;
  }
  for (const LeftValues& left : run.left) {
    findings.push_back(leftover_of(left, "on hardware the next run reads them"));
  }
  for (Finding& finding : findings) {
    finding.kernel = kernel;
    finding.unit = unit;
  }
  return findings;
}

Finding left_in_link(const LeftValues& left, uint64_t depth, const std::string& reader) {
  std::string remark = "the runs are over, and unit '" + reader + "' could have read them";
  if (depth != 0 && left.held > depth) {
    remark = "the link holds " + std::to_string(depth) + ", so on hardware its writer stalls";
  }
  return leftover_of(left, remark);
}

Finding late_finding(std::chrono::milliseconds deadline, const std::vector<StandingWait>& waits) {
  Finding finding;
  finding.kind = "never_ends";
  finding.severity = "error";
  finding.message =
      "the kernel runs longer than the deadline of " + std::to_string(deadline.count()) +
      " ms and is ended; " +
      (waits.empty() ? "it computes: check what ends its loops" : "it waits: " + texts_of(waits));
  finding.more = {{"cycle", cycle_of(waits)}};
  if (waits.empty()) return finding;
  finding.file = waits[0].place.file;
  finding.line = waits[0].place.line;
  finding.stream = waits[0].stream;
  return finding;
}

}  // namespace tandem::emulation
