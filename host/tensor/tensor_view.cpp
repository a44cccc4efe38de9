// SPDX-License-Identifier: Apache-2.0
//
// Rows of a matrix with its scales.
#include "tensor/tensor_view.h"

#include <algorithm>

namespace tandem {

void dequantize_row(const TensorView& tensor, std::int64_t row, float* to) {
  const auto columns = static_cast<std::size_t>(tensor.columns);
  dequantize_row(
      tensor.dtype,
      tensor.data + static_cast<std::size_t>(row) * dtype_row_bytes(tensor.dtype, columns), to,
      columns);
  if (!tensor.scales) return;
  const float* scale = tensor.scales.of_row(row, tensor.columns);
  for (std::int64_t begin = 0; begin < tensor.columns; begin += tensor.scales.block_columns) {
    const std::int64_t end = std::min(begin + tensor.scales.block_columns, tensor.columns);
    for (std::int64_t column = begin; column < end; ++column) to[column] *= *scale;
    ++scale;
  }
}

}  // namespace tandem
