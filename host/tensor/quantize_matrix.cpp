// SPDX-License-Identifier: Apache-2.0
//
// quantize_matrix(): parts of some rows, each with one row of f32 beside it.
#include "tensor/quantize_matrix.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/error.h"
#include "tensor/quantize.h"

namespace tandem {
namespace {

constexpr std::int64_t kPartValues = 1 << 15;  // about a millisecond of the slowest type

bool divides(DType dtype, std::int64_t columns) { return columns % dtype_block_values(dtype) == 0; }

DType small_block_type(DType dtype) {
  switch (dtype) {
    case DType::kQ4_K:
      return DType::kQ4_1;
    case DType::kQ5_K:
      return DType::kQ5_1;
    case DType::kQ6_K:
      return DType::kQ8_0;
    default:
      return dtype;
  }
}

}  // namespace

DType fitting_type(DType wanted, DType from, std::int64_t columns) {
  const DType type = divides(wanted, columns) ? wanted : small_block_type(wanted);
  if (!divides(type, columns)) return from;
  const auto values = static_cast<std::size_t>(columns);
  return dtype_row_bytes(type, values) < dtype_row_bytes(from, values) ? type : from;
}

void quantize_matrix(const TensorView& from, DType to, std::byte* result, ThreadPool& pool) {
  const auto columns = static_cast<std::size_t>(from.columns);
  const std::size_t from_bytes = dtype_row_bytes(from.dtype, columns);
  const std::size_t to_bytes = dtype_row_bytes(to, columns);
  const std::int64_t part_rows = std::max<std::int64_t>(1, kPartValues / from.columns);
  const auto convert = [&](std::size_t part) {
    std::vector<float> values(columns);
    const std::int64_t begin = static_cast<std::int64_t>(part) * part_rows;
    for (std::int64_t row = begin; row < std::min(begin + part_rows, from.rows); ++row) {
      const auto index = static_cast<std::size_t>(row);
      dequantize_row(from.dtype, from.data + index * from_bytes, values.data(), columns);
      try {
        quantize_row(to, values.data(), result + index * to_bytes, columns);
      } catch (const Error& error) {
        throw Error("tensor",
                    "'" + from.name + "', row " + std::to_string(row) + ": " + error.what());
      }
    }
  };
  pool.run(static_cast<std::size_t>((from.rows + part_rows - 1) / part_rows), convert);
}

}  // namespace tandem
