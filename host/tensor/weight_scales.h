// SPDX-License-Identifier: Apache-2.0
//
// WeightScales: the factors of the values of an e4m3 matrix [rows, columns], one f32 for each block
// of rows and columns.
//
// One scale per matrix, per row, or per block as published files have them (128 x 128); the last
// blocks of a matrix may be smaller. Ownership: borrows `data`. Threads: plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tandem {

struct WeightScales {
  const float* data = nullptr;  // [ceil(rows / block_rows), ceil(columns / block_columns)]
  std::int64_t block_rows = 1;
  std::int64_t block_columns = 1;  // a multiple of 16, or all columns of the matrix

  explicit operator bool() const { return data != nullptr; }
  // The number of scales of one row of a matrix with this many columns.
  std::int64_t per_row(std::int64_t columns) const {
    return (columns + block_columns - 1) / block_columns;
  }
  const float* of_row(std::int64_t row, std::int64_t columns) const {
    return data + row / block_rows * per_row(columns);
  }

  // The scales of only the rows [first, first + count); empty if these rows would divide a block.
  std::optional<WeightScales> of_rows(std::int64_t first, std::int64_t count,
                                      std::int64_t columns) const;
  // The scales of rows [first, first + count), one line per row: [count, per_row(columns)].
  std::vector<float> by_row(std::int64_t first, std::int64_t count, std::int64_t columns) const;
};

}  // namespace tandem
