// SPDX-License-Identifier: Apache-2.0
//
// Counts per handle under one lock: calls that make or release programs and kernels are rare.
#include "emulation/opencl_layer/held_programs.h"

#include <algorithm>

namespace tandem::emulation {

void HeldPrograms::add(cl_program program, const std::vector<cl_device_id>& cards) {
  std::lock_guard lock(mutex_);
  Held& held = held_[program];
  ++held.references;
  held.cards = cards;
}

void HeldPrograms::add(cl_kernel kernel, cl_program program) {
  std::lock_guard lock(mutex_);
  const auto found = held_.find(program);
  if (found == held_.end()) return;
  ++found->second.references;
  Held& held = held_[kernel];
  if (held.references++ == 0) {
    held.program = program;
  } else {
    drop(program);  // the kernel holds it already
  }
}

void HeldPrograms::retain(const void* handle) {
  std::lock_guard lock(mutex_);
  const auto found = held_.find(handle);
  if (found != held_.end()) ++found->second.references;
}

void HeldPrograms::release(const void* handle) {
  std::lock_guard lock(mutex_);
  drop(handle);
}

void HeldPrograms::drop(const void* handle) {
  const auto found = held_.find(handle);
  if (found == held_.end() || --found->second.references != 0) return;
  const cl_program program = found->second.program;
  held_.erase(found);
  if (program != nullptr) drop(program);
}

bool HeldPrograms::empty() const {
  std::lock_guard lock(mutex_);
  return held_.empty();
}

bool HeldPrograms::any_on(cl_device_id card) const {
  std::lock_guard lock(mutex_);
  return std::any_of(held_.begin(), held_.end(), [card](const auto& entry) {
    const auto& cards = entry.second.cards;
    return std::find(cards.begin(), cards.end(), card) != cards.end();
  });
}

}  // namespace tandem::emulation
