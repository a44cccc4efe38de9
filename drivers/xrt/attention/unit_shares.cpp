// SPDX-License-Identifier: Apache-2.0
//
// Tries every number of slices; kv_heads and units are small.
#include "xrt/attention/unit_shares.h"

#include <algorithm>

namespace tandem::device::xrt_card {

std::vector<UnitShare> divide_over_units(std::uint32_t kv_heads, std::size_t num_units) {
  const auto units = static_cast<std::uint32_t>(num_units);
  std::uint32_t best_slices = 1;
  double best_load = 2.0;
  for (std::uint32_t slices = 1; slices <= units; ++slices) {
    const std::uint32_t groups = std::min(units / slices, kv_heads);
    const std::uint32_t heads = (kv_heads + groups - 1) / groups;
    const double load = static_cast<double>(heads) / kv_heads / slices;
    if (load < best_load - 1e-9) {
      best_load = load;
      best_slices = slices;
    }
  }
  const std::uint32_t groups = std::min(units / best_slices, kv_heads);
  std::vector<UnitShare> shares;
  for (std::uint32_t group = 0; group < groups; ++group) {
    const std::uint32_t begin = group * kv_heads / groups;
    const std::uint32_t end = (group + 1) * kv_heads / groups;
    for (std::uint32_t slice = 0; slice < best_slices; ++slice) {
      shares.push_back({begin, end - begin, slice, best_slices});
    }
  }
  return shares;
}

std::uint32_t own_pages(const UnitShare& share, std::uint32_t num_pages) {
  return (num_pages + share.num_slices - 1 - share.slice) / share.num_slices;
}

}  // namespace tandem::device::xrt_card
