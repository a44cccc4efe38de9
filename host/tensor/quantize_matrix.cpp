// SPDX-License-Identifier: Apache-2.0
//
// Quantises parts of some rows; each part has its own buffer of one f32 row.
#include "tensor/quantize_matrix.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/error.h"
#include "tensor/quantize.h"

namespace tandem {
namespace {

constexpr float kLargestF8 = 448.0f;
constexpr float kSmallestF8Scale = 0x1p-100f;  // far from what f32 would round away
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

// convert(row, values): values: [columns], what row `row` holds.
template <typename Convert>
void convert_rows(const TensorView& from, ThreadPool& pool, const Convert& convert) {
  const auto columns = static_cast<std::size_t>(from.columns);
  const std::int64_t part_rows = std::max<std::int64_t>(1, kPartValues / from.columns);
  const auto convert_part = [&](std::size_t part) {
    std::vector<float> values(columns);
    const std::int64_t begin = static_cast<std::int64_t>(part) * part_rows;
    for (std::int64_t row = begin; row < std::min(begin + part_rows, from.rows); ++row) {
      dequantize_row(from, row, values.data());
      try {
        convert(static_cast<std::size_t>(row), values.data());
      } catch (const Error& error) {
        throw Error("tensor",
                    "'" + from.name + "', row " + std::to_string(row) + ": " + error.what());
      }
    }
  };
  pool.run(static_cast<std::size_t>((from.rows + part_rows - 1) / part_rows), convert_part);
}

}  // namespace

DType fitting_type(DType wanted, DType from, std::int64_t columns) {
  const bool is_quantised = dtype_block_values(from) > 1;
  const DType type = divides(wanted, columns) ? wanted : small_block_type(wanted);
  if (!divides(type, columns) || (type == DType::kF8E4M3 && is_quantised)) return from;
  const auto values = static_cast<std::size_t>(columns);
  return dtype_row_bytes(type, values) < dtype_row_bytes(from, values) ? type : from;
}

void quantize_matrix(const TensorView& from, DType to, std::byte* result, ThreadPool& pool) {
  const auto columns = static_cast<std::size_t>(from.columns);
  const std::size_t to_bytes = dtype_row_bytes(to, columns);
  convert_rows(from, pool, [&](std::size_t row, const float* values) {
    quantize_row(to, values, result + row * to_bytes, columns);
  });
}

void quantize_matrix_to_f8(const TensorView& from, std::byte* codes, float* scales,
                           ThreadPool& pool) {
  const auto columns = static_cast<std::size_t>(from.columns);
  convert_rows(from, pool, [&](std::size_t row, const float* values) {
    float peak = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      if (!std::isfinite(values[i])) throw Error("tensor", "holds a value that is not finite");
      peak = std::max(peak, std::fabs(values[i]));
    }
    const float scale = peak > 0 ? std::max(peak / kLargestF8, kSmallestF8Scale) : 1.0f;
    scales[row] = scale;
    for (std::size_t i = 0; i < columns; ++i) {
      codes[row * columns + i] = std::byte{f32_to_f8(values[i] / scale)};
    }
  });
}

}  // namespace tandem
