// SPDX-License-Identifier: Apache-2.0
//
// The part of BufferChecks that looks at the arguments of runs. A packet names its units by masks,
// of which the first is enough to know the kernel.
#include <ert.h>

#include <bit>

#include "emulation/protocol/code_place.h"
#include "emulation/xrt_shim/card/card.h"
#include "emulation/xrt_shim/checks/buffer_checks.h"
#include "emulation/xrt_shim/checks/host_findings.h"

namespace tandem::emulation {

// Those that are wrong.
std::set<size_t> BufferChecks::check_arguments(const Program& program, uint32_t unit,
                                               uint64_t packet) {
  const xclbin::ComputeUnit& started = program.units[unit];
  const std::vector<KernelArgument>& arguments = program.arguments.at(started.kernel);
  std::set<size_t> wrong;
  for (const auto& problem : run_arguments_.problems(packet, arguments)) {
    wrong.insert(problem.argument);
    report_host_finding(card_, states_,
                        {"bad_argument", started.kernel, started.name,
                         arguments[problem.argument].name, problem.message, problem.is_warning},
                        caller_place());
  }
  return wrong;
}

void BufferChecks::argument_set(uint64_t packet, int index, bool is_buffer, uint64_t num_bytes,
                                const char* refusal) {
  if (!run_arguments_.knows(packet)) return;
  if (refusal == nullptr) run_arguments_.set(packet, index, is_buffer, num_bytes);
  bool runs = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    runs = started_.contains(packet) && card_.packet_state(packet) < ERT_CMD_STATE_COMPLETED;
  }
  if (refusal == nullptr && !runs) return;
  HostFinding finding = about_argument(packet, static_cast<size_t>(index));
  finding.kind = "bad_argument";
  finding.message = refusal != nullptr
                        ? "XRT refuses the argument " + std::to_string(index) +
                              " of a run: " + refusal + "; pass what the kernel takes"
                        : "the program sets it during the run, which may use the old value "
                          "or the new one: wait() first";
  report_host_finding(card_, states_, finding, caller_place());
}

// A finding with the kernel of a packet and the name of its argument, if there is one.
HostFinding BufferChecks::about_argument(uint64_t packet, size_t index) const {
  HostFinding finding;
  const auto program = card_.program();
  const auto& command =
      *reinterpret_cast<const ert_start_kernel_cmd*>(card_.packet_data() + packet);
  const auto unit = static_cast<size_t>(std::countr_zero(command.cu_mask));
  if (program == nullptr || unit >= program->units.size()) return finding;
  finding.kernel = program->units[unit].kernel;
  const auto arguments = program->arguments.find(finding.kernel);
  if (arguments != program->arguments.end() && index < arguments->second.size()) {
    finding.argument = arguments->second[index].name;
  }
  return finding;
}

void BufferChecks::check_pointer(const Program& program, const std::vector<uint32_t>& units,
                                 size_t argument, uint64_t address) {
  const xclbin::ComputeUnit& unit = program.units[units.front()];
  const std::string& name = program.arguments.at(unit.kernel)[argument].name;
  if (!states_.covers(address, 1)) return;  // another card's memory
  const uint8_t state = states_.states()[address];
  if ((state & kStateFreed) != 0) {
    report("use_after_free", unit.kernel, unit.name, name,
           "a run begins with a buffer that was freed: keep the buffer until the run has ended");
  } else if ((state & kStateLive) == 0) {
    report("bad_argument", unit.kernel, unit.name, name,
           address == 0 ? "a run begins without this argument: set it to a buffer"
                        : "a run begins with an address where no buffer begins: set the argument "
                          "to a buffer");
  }
  for (const uint32_t index : units) {
    const auto reached = program.reached.find({index, argument});
    if (reached == program.reached.end() || reached->second.empty()) return;
    for (const auto& [first, end] : reached->second) {
      if (address >= first && address < end) return;
    }
  }
  report("wrong_bank", unit.kernel, unit.name, name,
         "the buffer is in a bank that this argument's port is not connected to: allocate it in "
         "kernel.group_id() of this argument, or connect the bank (--connectivity.sp)");
}

}  // namespace tandem::emulation
