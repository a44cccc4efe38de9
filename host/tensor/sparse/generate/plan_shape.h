// SPDX-License-Identifier: Apache-2.0
//
// PlanShape: the number of slices of a tensor, and the sizes of a slice and a fibre.
//
// Slices have the last two modes, fibres the last one. A tensor of order 1 is one fibre in one
// slice. Plain values; threads: any. Throws Error for more than 2^63 slices.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem::sparse {

struct PlanShape {
  std::uint64_t all_slices = 1;
  std::uint64_t slice_fibers = 1;  // fibres of a slice: the size of the second last mode
  std::uint64_t fiber_size = 1;    // the size of the last mode
};

PlanShape shape_of_plan(const std::vector<std::uint64_t>& sizes);

}  // namespace tandem::sparse
