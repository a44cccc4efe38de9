// SPDX-License-Identifier: Apache-2.0
//
// Parts of scales.
#include "tensor/weight_scales.h"

#include <algorithm>

namespace tandem {

std::optional<WeightScales> WeightScales::of_rows(std::int64_t first, std::int64_t count,
                                                  std::int64_t columns) const {
  const bool in_one_block = first / block_rows == (first + count - 1) / block_rows;
  if (first % block_rows != 0 && !in_one_block) return {};
  WeightScales part = *this;
  part.data = of_row(first, columns);
  return part;
}

std::vector<float> WeightScales::by_row(std::int64_t first, std::int64_t count,
                                        std::int64_t columns) const {
  const auto width = static_cast<std::size_t>(per_row(columns));
  std::vector<float> rows(static_cast<std::size_t>(count) * width);
  for (std::int64_t row = 0; row < count; ++row) {
    std::copy_n(of_row(first + row, columns), width,
                rows.data() + static_cast<std::size_t>(row) * width);
  }
  return rows;
}

}  // namespace tandem
