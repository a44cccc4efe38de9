// SPDX-License-Identifier: Apache-2.0
//
// The part of BufferChecks that looks at the arguments of runs. A packet names its units by masks;
// all of them are of one kernel.
#include <ert.h>

#include <bit>

#include "emulation/protocol/code_place.h"
#include "emulation/xrt_shim/card/card.h"
#include "emulation/xrt_shim/checks/buffer_checks.h"
#include "emulation/xrt_shim/checks/host_findings.h"

namespace tandem::emulation {
namespace {

// Further masks, each of 32 units, stand before the register map.
size_t first_unit(const ert_start_kernel_cmd& command) {
  constexpr size_t kUnitsPerMask = 32;
  auto unit = static_cast<size_t>(std::countr_zero(command.cu_mask));
  for (uint32_t more = 0; more < command.extra_cu_masks; ++more) {
    if (unit < (more + 1) * kUnitsPerMask) break;
    unit += static_cast<size_t>(std::countr_zero(command.data[more]));
  }
  return unit;
}

}  // namespace

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

void BufferChecks::argument_set(uint64_t packet, int index, const GivenArgument& given,
                                const char* refusal) {
  if (!run_arguments_.knows(packet)) return;
  if (refusal == nullptr) run_arguments_.set(packet, index, given);
  bool runs = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    runs = started_.contains(packet) && card_.packet_state(packet) < ERT_CMD_STATE_COMPLETED;
  }
  if (refusal == nullptr && !runs) return;
  HostFinding finding;
  const auto argument = argument_at(packet, static_cast<size_t>(index), finding.kernel);
  if (argument.has_value()) finding.argument = argument->name;
  finding.kind = "bad_argument";
  finding.message = refusal != nullptr
                        ? "XRT refuses the argument " + std::to_string(index) +
                              " of a run: " + refusal + "; pass what the kernel takes"
                        : "the program sets it during the run, which may use the old value "
                          "or the new one: wait() first";
  report_host_finding(card_, states_, finding, caller_place());
}

const char* BufferChecks::why_no_buffer(uint64_t packet, int index) const {
  std::string kernel;
  const auto argument = argument_at(packet, static_cast<size_t>(index), kernel);
  if (!argument.has_value()) return kernel.empty() ? nullptr : "the kernel has no such argument";
  const bool takes = argument->kind != kScalarArgument && argument->kind != kStreamArgument;
  return takes ? nullptr : "it takes a value or a stream, not a buffer";
}

bool BufferChecks::call_refused(const std::string& kernel, int argument,
                                const std::string& message) {
  const auto program = card_.program();
  if (program == nullptr) return false;
  const auto found = program->arguments.find(kernel);
  if (found == program->arguments.end()) return false;
  const auto index = static_cast<size_t>(argument);
  const bool known = argument >= 0 && index < found->second.size();
  report("bad_argument", kernel, "", known ? found->second[index].name : "", message);
  return true;
}

// An argument of a packet's kernel, if there is one; the kernel's name, if it is known.
std::optional<KernelArgument> BufferChecks::argument_at(uint64_t packet, size_t index,
                                                        std::string& kernel) const {
  const auto program = card_.program();
  const auto& command =
      *reinterpret_cast<const ert_start_kernel_cmd*>(card_.packet_data() + packet);
  const size_t unit = first_unit(command);
  if (program == nullptr || unit >= program->units.size()) return std::nullopt;
  kernel = program->units[unit].kernel;
  const auto arguments = program->arguments.find(kernel);
  const bool has = arguments != program->arguments.end() && index < arguments->second.size();
  return has ? std::optional(arguments->second[index]) : std::nullopt;
}

void BufferChecks::check_pointer(const Command& command, size_t argument, uint64_t address) {
  const xclbin::ComputeUnit& unit = command.program.units[command.units.front()];
  const std::string& name = command.program.arguments.at(unit.kernel)[argument].name;
  const auto given = run_arguments_.given(command.packet, argument);
  const bool is_own = states_.covers(address, 1);
  // Another card's memory has no states here; only a buffer can be there.
  if (!is_own && (!given.has_value() || given->is_buffer)) return;
  const uint8_t state = is_own ? states_.states()[address] : 0;
  if ((state & kStateFreed) != 0) {
    report("use_after_free", unit.kernel, unit.name, name,
           "a run begins with a buffer that was freed: keep the buffer until the run has ended");
  } else if ((state & kStateLive) == 0) {
    report("bad_argument", unit.kernel, unit.name, name,
           address == 0 ? "a run begins without this argument: set it to a buffer"
                        : "a run begins with an address where no buffer begins: set the argument "
                          "to a buffer");
  }
  if (given.has_value() && given->is_buffer && given->address != address) {
    HostFinding finding{"wrong_bank", unit.kernel, unit.name, name};
    finding.message =
        "the buffer is in a bank that this argument's port is not connected to, so the run uses "
        "XRT's copy in another bank: later syncs do not reach the copy, and what the kernel writes "
        "does not come back: allocate the buffer in kernel.group_id() of this argument";
    finding.is_warning = true;
    return report_host_finding(card_, states_, finding, caller_place());
  }
  if (is_own) check_bank(command, argument, address);
}

void BufferChecks::check_bank(const Command& command, size_t argument, uint64_t address) {
  const xclbin::ComputeUnit& unit = command.program.units[command.units.front()];
  for (const uint32_t index : command.units) {
    const auto reached = command.program.reached.find({index, argument});
    if (reached == command.program.reached.end() || reached->second.empty()) return;
    for (const auto& [first, end] : reached->second) {
      if (address >= first && address < end) return;
    }
  }
  report("wrong_bank", unit.kernel, unit.name,
         command.program.arguments.at(unit.kernel)[argument].name,
         "the buffer is in a bank that this argument's port is not connected to: allocate it in "
         "kernel.group_id() of this argument, or connect the bank (--connectivity.sp)");
}

}  // namespace tandem::emulation
