// SPDX-License-Identifier: Apache-2.0
//
// What a unit tells the time model of a call: its arguments before, the lines of the report after.
#include <algorithm>

#include "emulation/card/units/run_report.h"
#include "emulation/card/units/unit_thread.h"

namespace tandem::emulation {

std::vector<timing::TimedArgument> UnitThread::timed_arguments() {
  std::vector<timing::TimedArgument> arguments;
  const std::vector<std::string>& names = plan_.argument_names;
  for (const PointerArgument& each : pointers()) {
    const auto index =
        static_cast<size_t>(std::find(names.begin(), names.end(), each.name) - names.begin());
    const std::string bundle = index < plan_.ports.size() ? plan_.ports[index] : "gmem";
    arguments.push_back({each.name, bundle, each.address});
  }
  return arguments;
}

void UnitThread::begin_timing() {
  timed_registers_.clear();
  const tandem_glue::KernelEntry& entry = plan_.library->entry();
  for (uint32_t index = 0; areas_.settings.waves && index < entry.num_arguments; ++index) {
    const tandem_glue::ArgumentEntry& argument = entry.arguments[index];
    if (argument.kind == tandem_glue::kStream) continue;
    const unsigned char* const at = registers_.data() + argument.offset;
    timed_registers_.push_back(
        {argument_name(index), argument.offset, {at, at + argument.host_bytes}, {}});
  }
  timer_->begin(timed_arguments(), areas_.settings.waves);
}

// Lines of the report, not findings.
void UnitThread::report_time() {
  const timing::RunTime time = timer_->end();
  modelled_us_ += time.modelled_us;
  if (areas_.settings.report_file.empty()) return;
  const char* const kernel = plan_.library->entry().name;
  append_line(areas_.settings.report_file, timer_->line(time, kernel, plan_.name));
  if (!areas_.settings.waves) return;
  for (TimedRegister& each : timed_registers_) {
    const unsigned char* const at = registers_.data() + each.offset;
    each.after.assign(at, at + each.before.size());
  }
  RunWaves waves = timer_->waves(time);
  waves.kernel = kernel;
  waves.unit = plan_.name;
  waves.registers = std::move(timed_registers_);
  append_line(areas_.settings.report_file, waves_line(waves));
}

}  // namespace tandem::emulation
