// SPDX-License-Identifier: Apache-2.0
//
// The part of BufferChecks that finds a wait for a run whose stream has no reader yet. Here the run
// ends, because the stream grows; on hardware it waits for space, and the program waits for it.
//
// It is certain once the same thread starts the reader, or the program ends: another thread may
// start it while this one waits. A look at the run's state is no wait.
#include <ert.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "emulation/protocol/code_place.h"
#include "emulation/protocol/finding.h"
#include "emulation/xrt_shim/card/card.h"
#include "emulation/xrt_shim/checks/buffer_checks.h"
#include "emulation/xrt_shim/checks/host_findings.h"

namespace tandem::emulation {

// The program has waited for a run that is over.
void BufferChecks::note_stalled(uint64_t packet) {
  if (!card_.is_own()) return;  // the reader may be another application's
  if (!run_arguments_.knows(packet) || card_.packet_state(packet) != ERT_CMD_STATE_COMPLETED) {
    return;
  }
  StalledStream found;
  uint32_t writer = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto ended = started_.find(packet);
    if (ended == started_.end() || !ended->second.has_streams) return;
    if (ended->second.units.size() != 1) return;
    writer = ended->second.units.front();
    found.kernel = ended->second.kernel;
  }
  found.place = caller_place();
  found.thread = std::this_thread::get_id();
  const auto program = card_.program();
  if (program == nullptr || writer >= program->units.size()) return;
  found.unit = program->units[writer].name;
  const CardAnswer answer = card_.call_within(kAnswerTimeout, "stalled " + std::to_string(writer));
  if (!answer.ok()) return;
  std::istringstream words(answer.text.substr(2));
  const std::lock_guard<std::mutex> lock(mutex_);
  while (words >> found.reader >> found.held >> found.depth >> found.stream) {
    const bool is_known = std::any_of(stalled_.begin(), stalled_.end(), [&](const auto& each) {
      return each.stream == found.stream;  // the program may wait again
    });
    if (is_known || found.reader >= program->units.size()) continue;
    found.reader_name = program->units[found.reader].name;
    stalled_.push_back(found);
  }
}

// A command begins on one of `units`.
void BufferChecks::reader_starts(const std::vector<uint32_t>& units) {
  std::vector<StalledStream> certain;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(stalled_, [&](const StalledStream& each) {
      if (std::find(units.begin(), units.end(), each.reader) == units.end()) return false;
      if (each.thread == std::this_thread::get_id()) certain.push_back(each);
      return true;
    });
  }
  for (const StalledStream& each : certain) report_stalled(each);
}

void BufferChecks::report_stalled(const StalledStream& stalled) {
  const std::string held = std::to_string(stalled.held);
  HostFinding finding{"deadlock", stalled.kernel, stalled.unit, ""};
  finding.message = "the program waits for this run while unit '" + stalled.reader_name +
                    "', which reads stream '" + stalled.stream +
                    "', does not run; the stream holds " + held +
                    " values then, more than on hardware, where the wait never ends: start " +
                    "both runs before the wait, read as many values as are written, or give the "
                    "stream the depth " +
                    held + " (--connectivity.stream_connect)";
  finding.is_warning = true;
  const SourcePlace place = place_of(stalled.place);
  finding.more = {
      {"cycle", "[{\"unit\": " + json_string(stalled.unit) + ", \"process\": " +
                    json_string(stalled.unit) + ", \"stream\": " + json_string(stalled.stream) +
                    ", \"waits_for\": \"space\", \"held\": " + held +
                    ", \"depth\": " + std::to_string(stalled.depth) +
                    ", \"file\": " + (place.line > 0 ? json_string(place.file) : "null") +
                    ", \"line\": " + (place.line > 0 ? std::to_string(place.line) : "null") + "}]"},
      {"depths_needed", "{" + json_string(stalled.stream) + ": " + held + "}"}};
  report_host_finding(card_, states_, finding, stalled.place);
}

}  // namespace tandem::emulation
