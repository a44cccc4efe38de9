// SPDX-License-Identifier: Apache-2.0
//
// The checks of a SelectionUnit's arguments.
#include "device/selection_unit.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::device {
namespace {

[[noreturn]] void refuse(const std::string& unit, const std::string& why) {
  throw Error("device", "the selection unit of " + unit + ": " + why);
}

void check_count(const SelectionUnit& unit, std::size_t count, const char* what) {
  const std::uint64_t expected = unit.shape().num_values;
  if (count == expected) return;
  refuse(unit.name(), std::string(what) + " has " + std::to_string(count) +
                          " values; the unit is for " + std::to_string(expected));
}

void check_memory(const SelectionUnit& unit, const Placement& placement, const char* what) {
  if (unit.accepts(placement)) return;
  require_host(placement, "device", ("for " + unit.name() + " " + what).c_str());
  refuse(unit.name(), std::string(what) + " is in memory that the unit does not reach");
}

}  // namespace

void check_selection_shape(const std::string& unit, const SelectionShape& shape) {
  if (shape.num_values > 0 && shape.num_values <= std::numeric_limits<std::uint32_t>::max()) return;
  refuse(unit, "a gradient has 1 to 2^32 - 1 values, this one has " +
                   std::to_string(shape.num_values) + "; split it");
}

void check_gradient(const SelectionUnit& unit, const GradientView& gradient) {
  const DType type = gradient.type;
  if (type != DType::kF32 && type != DType::kF16 && type != DType::kBF16) {
    refuse(unit.name(), "gradients are f32, f16 or bf16, this one is " +
                            std::string(dtype_name(type)) + "; convert it");
  }
  const std::size_t bytes = dtype_block_bytes(type);
  if (gradient.values.size() % bytes != 0 ||
      reinterpret_cast<std::uintptr_t>(gradient.values.data()) % bytes != 0) {
    refuse(unit.name(), "the gradient is not aligned to its values");
  }
  check_count(unit, gradient.values.size() / bytes, "the gradient");
  check_memory(unit, gradient.placement, "the gradient");
}

void check_range(const SelectionUnit& unit, SelectionRange range) {
  if (range.begin <= range.end && range.end <= unit.shape().num_values) return;
  refuse(unit.name(), "the range from " + std::to_string(range.begin) + " to " +
                          std::to_string(range.end) + " does not lie in the " +
                          std::to_string(unit.shape().num_values) + " values");
}

void check_places(const SelectionUnit& unit, std::span<const std::uint32_t> indices) {
  const std::uint64_t num_values = unit.shape().num_values;
  if (indices.size() > num_values) {
    refuse(unit.name(), std::to_string(indices.size()) + " places of " +
                            std::to_string(num_values) + " values; places are unique");
  }
  const auto wrong = std::ranges::find_if(indices, [&](auto index) { return index >= num_values; });
  if (wrong == indices.end()) return;
  refuse(unit.name(), "place " + std::to_string(*wrong) + " is not below the number of values, " +
                          std::to_string(num_values));
}

void check_entries(const SelectionUnit& unit, std::span<const std::uint32_t> indices,
                   std::span<const float> values) {
  check_places(unit, indices);
  if (indices.size() == values.size()) return;
  refuse(unit.name(), std::to_string(indices.size()) + " places with " +
                          std::to_string(values.size()) + " values");
}

void check_dense(const SelectionUnit& unit, std::span<const float> dense,
                 const Placement& placement) {
  check_count(unit, dense.size(), "the target");
  check_memory(unit, placement, "the target");
}

void check_residual(const SelectionUnit& unit, const ResidualView& view) {
  check_count(unit, view.residual.size(), "the residual");
  if (unit.shape().velocity) {
    check_count(unit, view.velocity.size(), "the velocity");
  } else if (!view.velocity.empty()) {
    refuse(unit.name(), "there is no velocity; leave it out");
  }
}

}  // namespace tandem::device
