// SPDX-License-Identifier: Apache-2.0
//
// The checks of a GradientMemory's arguments.
#include "device/gradient_memory.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::device {
namespace {

[[noreturn]] void refuse_gradient(const std::string& where, const std::string& why) {
  throw Error("device", "gradients on " + where + ": " + why);
}

void check_reach(const GradientMemory& memory, const Placement& placement, const char* what) {
  if (memory.accepts(placement)) return;
  require_host(placement, "device", ("for " + memory.name() + " " + what).c_str());
  refuse_gradient(memory.name(),
                  std::string(what) + " is in memory that the device does not reach");
}

}  // namespace

void check_values(const std::string& where, const void* values, std::size_t bytes, DType type) {
  if (type != DType::kF32 && type != DType::kF16 && type != DType::kBF16) {
    refuse_gradient(where, "they are f32, f16 or bf16, this one is " +
                               std::string(dtype_name(type)) + "; convert it");
  }
  const std::size_t width = dtype_block_bytes(type);
  if (bytes % width != 0 || reinterpret_cast<std::uintptr_t>(values) % width != 0) {
    refuse_gradient(where, "the gradient is not aligned to its values");
  }
}

void check_gradient(const GradientMemory& memory, const GradientView& gradient) {
  check_values(memory.name(), gradient.values.data(), gradient.values.size(), gradient.type);
  check_reach(memory, gradient.placement, "the gradient");
}

void check_target(const GradientMemory& memory, const GradientTarget& to,
                  std::span<const std::uint32_t> indices, std::span<const float> values) {
  check_values(memory.name(), to.values.data(), to.values.size(), to.type);
  check_reach(memory, to.placement, "the target");
  const std::uint64_t num_values = to.values.size() / dtype_block_bytes(to.type);
  if (indices.size() != values.size()) {
    refuse_gradient(memory.name(), std::to_string(indices.size()) + " places with " +
                                       std::to_string(values.size()) + " values");
  }
  const auto wrong = std::ranges::find_if(indices, [&](auto index) { return index >= num_values; });
  if (wrong != indices.end()) {
    refuse_gradient(memory.name(), "place " + std::to_string(*wrong) + " of a target with " +
                                       std::to_string(num_values) + " values");
  }
}

void check_copy(const GradientMemory& memory, const Placement& placement, std::size_t from_bytes,
                std::size_t to_bytes) {
  check_reach(memory, placement, "the gradient");
  if (from_bytes == to_bytes) return;
  refuse_gradient(memory.name(), "a copy of " + std::to_string(from_bytes) + " bytes to " +
                                     std::to_string(to_bytes));
}

}  // namespace tandem::device
