// SPDX-License-Identifier: Apache-2.0
//
// share_rows: divides the rows of a sparse matrix among devices of different speed.
//
// Every device gets consecutive rows, in the order of the devices, so that the longest of their
// predicted times is about the least possible one. A device whose fixed time alone is longer gets
// no row. Rows for which no device has room are left at the end. Pure; cost O(devices log rows) per
// step of a bisection. Threads: any.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tandem::sparse {

// Seconds of a product: fixed (0 without rows), and per row and entry. At least one is above 0.
struct RowSpeed {
  double fixed = 0, row = 0, entry = 0;
  // How many rows and entries together the device has room for.
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max();
};

// begins: [rows + 1]. Returns [devices + 1] ascending bounds from 0 on; device d has rows
// [bounds[d], bounds[d + 1]). The last is the number of rows, if there is room for all.
std::vector<std::uint64_t> share_rows(std::span<const std::uint64_t> begins,
                                      std::span<const RowSpeed> devices);

// The longest of the predicted times.
double longest_share(std::span<const std::uint64_t> begins, std::span<const RowSpeed> devices,
                     std::span<const std::uint64_t> bounds);

}  // namespace tandem::sparse
