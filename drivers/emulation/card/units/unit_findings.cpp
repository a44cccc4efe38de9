// SPDX-License-Identifier: Apache-2.0
//
// What a unit writes into the report: findings of its streams, of the kernel's own accesses, and of
// runs that take too long.
#include <execinfo.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "emulation/card/units/run_report.h"
#include "emulation/card/units/unit_thread.h"
#include "emulation/protocol/code_place.h"

namespace tandem::emulation {
namespace {

constexpr int kMostLateFrames = 24;

}  // namespace

using hls_runtime::End;

// Before the command ends, so that an application finds them after its wait.
void UnitThread::report_findings(End end) {
  const bool deadlocked = end == End::kDeadlock;
  if (deadlocked && tells_findings()) report("deadlock: " + scheduler_.message());
  const hls_runtime::RunFindings& run = scheduler_.findings();
  if (!deadlocked && run.depths.empty() && run.left.empty()) return;
  for (Finding& finding : findings_of(run, deadlocked, plan_.library->entry().name, plan_.name)) {
    name_stream_argument(finding);
    if (finding.severity == "warning" && tells_findings()) report(finding.message);
    add_finding(std::move(finding));
  }
}

// Not in the unit's thread, which may begin a command meanwhile: it is a finding of no command.
void UnitThread::report_left(const hls_runtime::LeftValues& left, uint64_t depth,
                             const std::string& reader) const {
  Finding finding = left_in_link(left, depth, reader);
  name_stream_argument(finding);
  tell(finding);
  finding.kernel = plan_.library->entry().name;
  finding.unit = plan_.name;
  write_finding(std::move(finding));
}

// No line of the kernel declares a stream that is an argument.
void UnitThread::name_stream_argument(Finding& finding) const {
  const tandem_glue::KernelEntry& entry = plan_.library->entry();
  for (uint32_t index = 0; index < entry.num_arguments; ++index) {
    const auto channel_of = entry.arguments[index].channel;
    if (plan_.streams[index] == nullptr || channel_of == nullptr) continue;
    const auto* const channel =
        static_cast<const tandem_hls::Channel*>(channel_of(plan_.streams[index]));
    if (finding.stream == channel->name) finding.argument = argument_name(index);
  }
}

// Findings of the kernel's own accesses are also printed to standard error.
void UnitThread::report_finding(Finding finding) {
  tell(finding);
  finding.kernel = plan_.library->entry().name;
  finding.unit = plan_.name;
  add_finding(std::move(finding));
}

void UnitThread::tell(const Finding& finding) const {
  if (!tells_findings()) return;
  report(finding.kind + ": " + finding.message +
         (finding.line > 0 ? " [" + finding.file + ":" + std::to_string(finding.line) + "]" : ""));
}

// Once per command: a kernel that repeats finds the same again.
void UnitThread::add_finding(Finding finding) {
  if (!reported_.insert(json_line(finding)).second) return;
  ++num_found_;
  write_finding(std::move(finding));
}

void UnitThread::write_finding(Finding finding) const {
  if (areas_.settings.has(kCheckStrict)) finding.severity = "error";
  areas_.shared().findings.fetch_add(1);
  const std::string& file = areas_.settings.report_file;
  if (!file.empty() && !append_finding(file, finding)) {
    report("cannot write to TANDEM_CARD_REPORT '" + file + "': " + std::strerror(errno));
  }
}

void UnitThread::report_late(const std::vector<hls_runtime::StandingWait>& waits) {
  Finding finding = late_finding(areas_.settings.deadline, waits);
  if (waits.empty()) {
    // Some instructions belong to no line: those around them do.
    const uint64_t at = late_at_.empty() ? end_.at.load() : 0;
    for (const int near : {1, 5, 9, 17, -7, -15}) {
      if (at != 0)
        late_at_.push_back(reinterpret_cast<const void*>(at + static_cast<uint64_t>(near)));
    }
    if (end_.caller.load() != 0) {
      late_at_.push_back(reinterpret_cast<const void*>(end_.caller.load()));
    }
    const SourcePlace place = place_of(code_place(late_at_));
    finding.file = place.file;
    finding.line = place.line;
  }
  report_finding(std::move(finding));
}

// Called in the unit's thread while the kernel waits or looks at a stream. Code that only computes
// is interrupted instead, and `end_` has its place.
void UnitThread::note_place_if_late() {
  if (!late_at_.empty() || !is_late()) return;
  void* frames[kMostLateFrames];
  const int count = backtrace(frames, kMostLateFrames);
  for (int index = 0; index < count; ++index) {
    const auto at = reinterpret_cast<uint64_t>(frames[index]);
    if (at >= end_.code.begin && at < end_.code.end) late_at_.push_back(frames[index]);
  }
}

}  // namespace tandem::emulation
