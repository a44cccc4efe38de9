// SPDX-License-Identifier: Apache-2.0
//
// RunsOfRows: consecutive runs of the rows of a sparse matrix, of about equal rows and entries.
//
// Run r has the rows [row_at(r), row_at(r + 1)). A run may be empty. Cost: a bisection a bound.
// Borrows `begins`. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/sparse/formats/radix_sort.h"

namespace tandem::sparse {

struct RunsOfRows {
  const std::uint64_t* begins = nullptr;  // [rows + 1]
  std::uint64_t rows = 0;
  std::size_t entries = 0, runs = 1;

  // The first row that begins at or behind the bound of the run.
  std::uint64_t row_at(std::size_t run) const {
    if (run == runs) return rows;
    const std::size_t bound = EqualParts{entries + static_cast<std::size_t>(rows), runs}.bound(run);
    std::uint64_t low = 0, high = rows;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (begins[middle] + middle < bound) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

}  // namespace tandem::sparse
