// SPDX-License-Identifier: Apache-2.0
//
// share_rows: divides the rows of a sparse matrix among devices of different speed.
//
// Every device gets consecutive rows, in the order of the devices, so that the longest of their
// predicted times is about the least possible one. A device whose fixed time alone is longer gets
// no row. Pure; cost O(devices log rows) per step of a bisection. Threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem::sparse {

// Seconds of a product: fixed (0 without rows), and per row and entry. At least one is above 0.
struct RowSpeed {
  double fixed = 0, row = 0, entry = 0;
};

// begins: [rows + 1]. Returns [devices + 1] ascending bounds from 0 to the number of rows; device d
// has rows [bounds[d], bounds[d + 1]).
std::vector<std::uint64_t> share_rows(std::span<const std::uint64_t> begins,
                                      std::span<const RowSpeed> devices);

// The longest of the predicted times.
double longest_share(std::span<const std::uint64_t> begins, std::span<const RowSpeed> devices,
                     std::span<const std::uint64_t> bounds);

}  // namespace tandem::sparse
