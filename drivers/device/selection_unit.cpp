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

}  // namespace

void check_selection_shape(const std::string& unit, const SelectionShape& shape) {
  if (shape.num_values > 0 && shape.num_values <= std::numeric_limits<std::uint32_t>::max()) return;
  refuse(unit, "a gradient has 1 to 2^32 - 1 values, this one has " +
                   std::to_string(shape.num_values) + "; split it");
}

void check_gradient(const SelectionUnit& unit, const GradientView& gradient, std::uint64_t first) {
  check_values(unit.name(), gradient.values.data(), gradient.values.size(), gradient.type);
  const std::uint64_t count = gradient.values.size() / dtype_block_bytes(gradient.type);
  const std::uint64_t num_values = unit.shape().num_values;
  if (first > num_values || count > num_values - first) {
    refuse(unit.name(), "the gradient has " + std::to_string(count) + " values from place " +
                            std::to_string(first) + " on; the unit is for " +
                            std::to_string(num_values));
  }
  if (unit.accepts(gradient.placement)) return;
  require_host(gradient.placement, "device", ("for " + unit.name() + " the gradient").c_str());
  refuse(unit.name(), "the gradient is in memory that the unit cannot access");
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

void check_chunks(const SelectionUnit& unit, std::uint32_t count, std::uint32_t last_count) {
  constexpr std::uint64_t kChunk = 4096;
  const std::uint64_t last = (unit.shape().num_values - 1) % kChunk + 1;
  if (count >= 1 && count <= kChunk && last_count >= 1 && last_count <= last) return;
  refuse(unit.name(), "chunks of " + std::to_string(count) + " entries and " +
                          std::to_string(last_count) + " in the last; it has " +
                          std::to_string(last) + " values");
}

void check_residual(const SelectionUnit& unit, const ResidualView& view) {
  check_count(unit, view.residual.size(), "the residual");
  if (unit.shape().velocity) {
    check_count(unit, view.velocity.size(), "the velocity");
  } else if (!view.velocity.empty()) {
    refuse(unit.name(), "the unit has no velocity; pass none");
  }
}

}  // namespace tandem::device
