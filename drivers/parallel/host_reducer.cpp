// SPDX-License-Identifier: Apache-2.0
//
// The sum in unit order.
#include "parallel/host_reducer.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::device::parallel {

void HostReducer::all_reduce(std::span<const Slice> parts, std::size_t count) {
  TANDEM_CHECK_OP(parts.size(), ==, units_.size());
  if (parts.size() < 2 || count == 0) return;
  const std::size_t bytes = count * sizeof(float);
  ranges_.assign(parts.begin(), parts.end());
  for (std::size_t unit = 0; unit < parts.size(); ++unit) {
    if (!parts[unit].buffer->host().empty()) continue;
    ranges_[unit] = staging_.of(static_cast<int>(unit), bytes);
    units_[unit]->enqueue(CopyOp{bytes, parts[unit], ranges_[unit]});
  }
  for (ComputeUnit* unit : units_) finish(*unit);
  const std::span<float> sum = host_floats(ranges_[0], count);
  for (std::size_t unit = 1; unit < parts.size(); ++unit) {
    const std::span<const float> terms = host_floats(ranges_[unit], count);
    for (std::size_t i = 0; i < count; ++i) sum[i] += terms[i];
  }
  for (std::size_t unit = 0; unit < parts.size(); ++unit) {
    if (unit > 0) std::ranges::copy(sum, host_floats(ranges_[unit], count).begin());
    if (parts[unit].buffer->host().empty()) {
      units_[unit]->enqueue(CopyOp{bytes, ranges_[unit], parts[unit]});
    }
  }
}

}  // namespace tandem::device::parallel
