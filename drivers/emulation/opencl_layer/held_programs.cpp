// SPDX-License-Identifier: Apache-2.0
//
// Counts per handle under one lock: calls that make or release programs and kernels are rare.
#include "emulation/opencl_layer/held_programs.h"

#include <algorithm>

namespace tandem::emulation {

void HeldPrograms::add(cl_program program, const std::vector<cl_device_id>& cards) {
  std::lock_guard lock(mutex_);
  Program& held = programs_[program];
  ++held.references;
  held.cards = cards;
}

void HeldPrograms::retain(cl_program program) {
  std::lock_guard lock(mutex_);
  const auto found = programs_.find(program);
  if (found != programs_.end()) ++found->second.references;
}

void HeldPrograms::release(cl_program program) {
  std::lock_guard lock(mutex_);
  drop(program);
}

void HeldPrograms::drop(cl_program program) {
  const auto found = programs_.find(program);
  if (found != programs_.end() && --found->second.references == 0) programs_.erase(found);
}

void HeldPrograms::add(cl_kernel kernel, cl_program program) {
  std::lock_guard lock(mutex_);
  const auto found = programs_.find(program);
  if (found == programs_.end()) return;
  Kernel& held = kernels_[kernel];
  if (held.references++ != 0) return;
  held.program = program;
  ++found->second.references;
}

void HeldPrograms::retain(cl_kernel kernel) {
  std::lock_guard lock(mutex_);
  const auto found = kernels_.find(kernel);
  if (found != kernels_.end()) ++found->second.references;
}

void HeldPrograms::release(cl_kernel kernel) {
  std::lock_guard lock(mutex_);
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end() || --found->second.references != 0) return;
  drop(found->second.program);
  kernels_.erase(found);
}

bool HeldPrograms::any_on(cl_device_id card) const {
  std::lock_guard lock(mutex_);
  return std::any_of(programs_.begin(), programs_.end(), [card](const auto& entry) {
    const auto& cards = entry.second.cards;
    return std::find(cards.begin(), cards.end(), card) != cards.end();
  });
}

}  // namespace tandem::emulation
