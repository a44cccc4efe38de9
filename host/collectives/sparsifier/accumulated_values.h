// SPDX-License-Identifier: Apache-2.0
//
// The accumulated gradient as an exchange sees it: values at places, in host memory or in a
// device's.
//
// Ownership: borrows the values or the unit. Threads: one. Errors: the unit's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/raw_vector.h"
#include "device/selection_unit.h"

namespace tandem::collectives {

class AccumulatedValues {
 public:
  // Implicit: values in host memory are the usual case.
  AccumulatedValues(std::span<const float> values) : values_(values) {}   // NOLINT
  AccumulatedValues(const RawVector<float>& values) : values_(values) {}  // NOLINT
  AccumulatedValues(device::SelectionUnit& unit, Deadline deadline)
      : unit_(&unit), deadline_(deadline) {}

  std::uint64_t size() const {
    return unit_ != nullptr ? unit_->shape().num_values : values_.size();
  }

  std::vector<float> at(std::span<const std::uint32_t> indices) const {
    if (unit_ != nullptr) {
      const std::span<const float> found = unit_->values_at(indices, deadline_);
      return {found.begin(), found.end()};
    }
    std::vector<float> found(indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) found[i] = values_[indices[i]];
    return found;
  }

 private:
  std::span<const float> values_;
  device::SelectionUnit* unit_ = nullptr;
  Deadline deadline_ = Deadline::never();
};

}  // namespace tandem::collectives
