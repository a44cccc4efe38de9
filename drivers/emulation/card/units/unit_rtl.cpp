// SPDX-License-Identifier: Apache-2.0
//
// What a unit takes from an RTL kernel after a call: its cycles, and where its source stopped it.
//
// A kernel's source ends the run by $stop or $fatal. The function that it calls notes the place and
// leaves by the exception that ends a command; the unit reports it, with or without checks.
#include <optional>
#include <utility>

#include "emulation/card/timing/rtl_time.h"
#include "emulation/card/units/unit_thread.h"

namespace tandem::emulation {
namespace {

thread_local std::optional<Finding> rtl_stop;

}  // namespace

void note_rtl_stop(const char* file, int line, const char* what) {
  rtl_stop.emplace();
  rtl_stop->kind = "rtl_stop";
  rtl_stop->severity = "error";
  rtl_stop->file = file;
  rtl_stop->line = line;
  rtl_stop->message = what;
}

void UnitThread::report_rtl_stop() {
  if (rtl_stop) report_finding(*std::exchange(rtl_stop, std::nullopt));
}

// An RTL kernel counts its own cycles; others have none.
void UnitThread::report_rtl_time(Clock::time_point begun) {
  const auto nanoseconds = [](Clock::time_point at) {
    return static_cast<uint64_t>(std::chrono::nanoseconds(at.time_since_epoch()).count());
  };
  RtlRun run{plan_.library->entry().name,
             plan_.name,
             take_rtl_cycles(),
             plan_.library->rtl_clock_mhz(),
             plan_.card == nullptr ? timing::TimedCard().launch_us : plan_.card->launch_us,
             nanoseconds(begun),
             nanoseconds(Clock::now())};
  if (run.cycles == 0 || run.clock_mhz == 0) return;
  modelled_us_ += run.modelled_us();
  const std::string& file = areas_.settings.report_file;
  if (!file.empty()) append_line(file, rtl_time_line(run));
}

}  // namespace tandem::emulation

extern "C" __attribute__((visibility("default"))) void tandem_rtl_stopped(const char* file,
                                                                          int line,
                                                                          const char* what) {
  tandem::hls_runtime::Scheduler* const unit = tandem::hls_runtime::Scheduler::current();
  if (unit == nullptr) return;
  tandem::emulation::note_rtl_stop(file, line, what);
  unit->end_command();
}
