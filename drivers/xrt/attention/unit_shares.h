// SPDX-License-Identifier: Apache-2.0
//
// Divides the KV heads and pages of a model over the compute units of a card.
//
// Units form a grid of head groups x page slices. A unit holds the KV heads of its group, and the
// kernel pages whose id modulo the number of slices is its slice. Head groups come first, since
// they need no merge; slices use the units that are left. Pure. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::device::xrt_card {

struct UnitShare {
  std::uint32_t head_begin = 0;
  std::uint32_t head_count = 0;
  std::uint32_t slice = 0;
  std::uint32_t num_slices = 1;
};

// Returns at most `num_units` shares, ordered by group, then by slice. Minimises the largest share
// of the KV bytes; among equals it takes the fewest slices.
std::vector<UnitShare> divide_over_units(std::uint32_t kv_heads, std::size_t num_units);

// How many of the kernel pages 0 .. num_pages-1 belong to the share.
std::uint32_t own_pages(const UnitShare& share, std::uint32_t num_pages);

}  // namespace tandem::device::xrt_card
