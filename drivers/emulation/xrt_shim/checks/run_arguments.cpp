// SPDX-License-Identifier: Apache-2.0
//
// Programs do not set streams and local memory, so these are not checked.
#include "emulation/xrt_shim/checks/run_arguments.h"

#include <algorithm>

namespace tandem::emulation {
namespace {

constexpr uint64_t kPointerBytes = 8;

std::string value_text(uint64_t num_bytes) {
  return "a value of " + std::to_string(num_bytes) + (num_bytes == 1 ? " byte" : " bytes");
}

}  // namespace

void RunArguments::made(uint64_t packet, bool by_program) {
  const std::lock_guard<std::mutex> lock(mutex_);
  runs_.erase(packet);
  if (by_program) runs_[packet];
}

bool RunArguments::knows(uint64_t packet) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return runs_.contains(packet);
}

void RunArguments::set(uint64_t packet, int index, const GivenArgument& given) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto run = runs_.find(packet);
  if (run != runs_.end()) run->second[index] = given;
}

std::optional<GivenArgument> RunArguments::given(uint64_t packet, size_t index) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto run = runs_.find(packet);
  if (run == runs_.end()) return std::nullopt;
  const auto found = run->second.find(static_cast<int>(index));
  if (found == run->second.end()) return std::nullopt;
  return found->second;
}

std::vector<RunArguments::Problem> RunArguments::problems(
    uint64_t packet, const std::vector<KernelArgument>& arguments) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Problem> problems;
  const auto run = runs_.find(packet);
  if (run == runs_.end()) return problems;
  // Output scalars need no value. If a kernel has no memory, its scalars may be outputs.
  const bool has_memory =
      std::any_of(arguments.begin(), arguments.end(),
                  [](const KernelArgument& each) { return each.kind == kPointerArgument; });
  for (size_t index = 0; index < arguments.size(); ++index) {
    const KernelArgument& argument = arguments[index];
    if (argument.kind != kScalarArgument && argument.kind != kPointerArgument) continue;
    const auto set = run->second.find(static_cast<int>(index));
    if (set == run->second.end()) {
      if (argument.kind == kScalarArgument && (argument.is_array || !has_memory)) continue;
      problems.push_back(
          {index, "a run begins without this argument (" + std::to_string(run->second.size()) +
                      " of " + std::to_string(arguments.size()) + " are set): set all of them"});
      continue;
    }
    const bool is_buffer = set->second.is_buffer;
    const uint64_t num_bytes = set->second.num_bytes;
    const bool takes_pointer = argument.kind == kPointerArgument;
    const uint64_t wanted = takes_pointer ? kPointerBytes : argument.num_bytes;
    if (is_buffer ? takes_pointer : num_bytes == wanted) continue;
    problems.push_back(
        {index,
         "it is set to " + (is_buffer ? "a buffer" : value_text(num_bytes)) +
             ", and the kernel takes " +
             (takes_pointer ? "a pointer: pass the buffer"
                            : value_text(wanted) + ": pass a value of the kernel's type"),
         !is_buffer && !takes_pointer && num_bytes > wanted});
  }
  return problems;
}

}  // namespace tandem::emulation
