// SPDX-License-Identifier: Apache-2.0
//
// Shapes and values of scales.
#include "model/loader/safetensors/f8_scales.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace tandem::model {
namespace {

using Shape = std::vector<std::uint64_t>;

constexpr float kLargestScale = 0x1p100f;  // beyond, sums of products would not be finite

std::string shown(const Shape& shape) {
  std::string text;
  for (const std::uint64_t dim : shape) text += (text.empty() ? "" : ", ") + std::to_string(dim);
  return "[" + text + "]";
}

// The blocks that scales of `shape` are for; block_rows 0: they are for none that is allowed.
WeightScales blocks_of(const HubQuantization& quantization, const Shape& weight,
                       const Shape& shape) {
  const auto rows = static_cast<std::int64_t>(weight[0]);
  const auto columns = static_cast<std::int64_t>(weight[1]);
  const auto parts = [](std::int64_t count, std::int64_t block) {
    return static_cast<std::uint64_t>((count + block - 1) / block);
  };
  if (quantization.block_rows > 0 && shape == Shape{parts(rows, quantization.block_rows),
                                                    parts(columns, quantization.block_columns)}) {
    return {nullptr, quantization.block_rows, quantization.block_columns};
  }
  const bool is_one = std::ranges::all_of(shape, [](auto dim) { return dim == 1; });
  if (quantization.per_matrix && is_one && shape.size() <= 2) return {nullptr, rows, columns};
  if (quantization.per_row && (shape == Shape{weight[0]} || shape == Shape{weight[0], 1})) {
    return {nullptr, 1, columns};
  }
  return {nullptr, 0, 0};
}

std::string allowed(const HubQuantization& quantization) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : " or ") + what; };
  if (quantization.per_matrix) add("one");
  if (quantization.per_row) add("one per row");
  if (quantization.block_rows > 0) {
    add("one per block of " + std::to_string(quantization.block_rows) + " x " +
        std::to_string(quantization.block_columns));
  }
  return text;
}

}  // namespace

WeightScales read_f8_scales(const HubQuantization& quantization, const SafetensorsTensor& weight,
                            const StoredScales& stored, std::vector<float>& values) {
  const SafetensorsTensor& tensor = *stored.tensor;
  const auto fail = [&](const std::string& what) {
    return stored.file->tensor_error(tensor.name, what);
  };
  if (!tensor.dtype || *tensor.dtype == DType::kF8E4M3) {
    throw fail("scales of type " + tensor.type + " are not read; readable: F32, F16, BF16");
  }
  WeightScales scales = blocks_of(quantization, weight.shape, tensor.shape);
  if (scales.block_rows == 0) {
    throw fail("has shape " + shown(tensor.shape) + ", config.json requires " +
               allowed(quantization) + " of a matrix " + shown(weight.shape));
  }
  const std::size_t count = tensor.size_bytes / dtype_block_bytes(*tensor.dtype);
  values.resize(count);
  dequantize_row(*tensor.dtype, tensor.data, values.data(), count);  // at any address
  for (const float value : values) {
    if (!(value >= 0.0f && value <= kLargestScale)) {
      throw fail("holds a scale that is negative, not finite or beyond 2^100");
    }
  }
  scales.data = values.data();
  return scales;
}

}  // namespace tandem::model
