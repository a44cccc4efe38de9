// SPDX-License-Identifier: Apache-2.0
//
// Weights and rows of product tests, and what a product of them is, in double precision.
//
// Quantised weights are random bytes with scales of a usual size, so that every code, small scale
// and bit of a plane occurs. Threads: any; pure functions.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "common/stored_types.h"
#include "norm/row_preparation.h"
#include "tensor/dtype.h"

namespace tandem::gpu_kernels {

struct TypePair {
  DType host;
  StoredType device;
};
inline constexpr TypePair kQuantisedTypes[] = {
    {DType::kQ8_0, StoredType::kQ8_0}, {DType::kQ4_0, StoredType::kQ4_0},
    {DType::kQ4_1, StoredType::kQ4_1}, {DType::kQ5_0, StoredType::kQ5_0},
    {DType::kQ5_1, StoredType::kQ5_1}, {DType::kIQ4_NL, StoredType::kIQ4_NL},
    {DType::kQ4_K, StoredType::kQ4_K}, {DType::kQ5_K, StoredType::kQ5_K},
    {DType::kQ6_K, StoredType::kQ6_K}};
inline constexpr TypePair kFloatTypes[] = {{DType::kF32, StoredType::kF32},
                                           {DType::kF16, StoredType::kF16},
                                           {DType::kBF16, StoredType::kBF16},
                                           {DType::kF8E4M3, StoredType::kE4M3}};

struct HostWeight {
  std::int64_t out_features = 0, in_features = 0;
  std::size_t row_bytes = 0;
  std::vector<std::byte> data;  // in the order of a file
  std::vector<float> values;    // [out_features, in_features]
};

template <typename Block>
void set_scales(Block& block, std::mt19937& random) {
  std::uniform_real_distribution<float> scale(0.002f, 0.01f);
  block.scale = f32_to_f16(scale(random));
  if constexpr (requires { block.min; }) block.min = f32_to_f16(scale(random));
}

template <typename Block>
void set_scales(std::vector<std::byte>& data, std::mt19937& random) {
  for (std::size_t at = 0; at < data.size(); at += sizeof(Block)) {
    Block block;
    std::memcpy(&block, data.data() + at, sizeof(block));
    set_scales(block, random);
    std::memcpy(data.data() + at, &block, sizeof(block));
  }
}

inline void fill_floats(DType type, std::vector<std::byte>& data, std::size_t count,
                        std::mt19937& random) {
  std::normal_distribution<float> value(0.0f, 0.3f);
  for (std::size_t i = 0; i < count; ++i) {
    const float x = value(random);
    if (type == DType::kF32) std::memcpy(data.data() + i * 4, &x, 4);
    const std::uint16_t half = type == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x);
    if (type == DType::kF16 || type == DType::kBF16) std::memcpy(data.data() + i * 2, &half, 2);
    if (type == DType::kF8E4M3) data[i] = std::byte{f32_to_f8(x * 40.0f)};
  }
}

inline HostWeight random_weight(DType type, std::int64_t out_features, std::int64_t in_features,
                                unsigned seed) {
  std::mt19937 random(seed);
  HostWeight weight{out_features, in_features, 0, {}, {}};
  const auto width = static_cast<std::size_t>(in_features);
  const auto rows = static_cast<std::size_t>(out_features);
  weight.row_bytes = dtype_row_bytes(type, width);
  weight.data.resize(rows * weight.row_bytes);
  for (std::byte& byte : weight.data) byte = static_cast<std::byte>(random());
  for (const TypePair& pair : kQuantisedTypes) {
    if (pair.host != type) continue;
    with_stored(pair.device, [&](auto stored) {
      if constexpr (kIsBlock<decltype(stored)>) set_scales<decltype(stored)>(weight.data, random);
    });
  }
  if (dtype_block_values(type) == 1) fill_floats(type, weight.data, rows * width, random);
  weight.values.resize(rows * width);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::byte* from = weight.data.data() + row * weight.row_bytes;
    float* to = weight.values.data() + row * width;
    if (type != DType::kF8E4M3) {
      dequantize_row(type, from, to, width);
      continue;
    }
    for (std::size_t i = 0; i < width; ++i) {
      to[i] = f8_to_f32(std::to_integer<std::uint8_t>(from[i]));
    }
  }
  return weight;
}

inline std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> value;
  std::vector<float> values(count);
  for (float& x : values) x = value(random);
  return values;
}

// Rows as int8 with notes, and what they stand for.
struct HostQ8Rows {
  std::vector<std::int8_t> q;
  std::vector<Q8Note> notes;
  std::vector<float> values;
};

inline HostQ8Rows quantise_rows(const std::vector<float>& x) {
  HostQ8Rows rows;
  for (std::size_t begin = 0; begin < x.size(); begin += 32) {
    float peak = 0;
    for (std::size_t i = 0; i < 32; ++i) peak = std::max(peak, std::fabs(x[begin + i]));
    Q8Note note{peak / 127.0f, 0.0f, 0, 0};
    for (std::size_t i = 0; i < 32; ++i) {
      const auto q = static_cast<std::int8_t>(std::lrint(x[begin + i] * (127.0f / peak)));
      rows.q.push_back(q);
      rows.values.push_back(static_cast<float>(q) * note.scale);
      note.sum += q;
      if (i < 16) note.first_sum += q;
    }
    note.scaled_sum = note.scale * static_cast<float>(note.sum);
    rows.notes.push_back(note);
  }
  return rows;
}

// out[row, output] of x W^T, and the sum of the products' magnitudes, which bounds what rounding
// may do to it.
struct Expected {
  std::vector<double> sums, magnitudes;
};

inline Expected expected_product(const HostWeight& weight, const std::vector<float>& x) {
  const auto width = static_cast<std::size_t>(weight.in_features);
  const auto outputs = static_cast<std::size_t>(weight.out_features);
  Expected expected;
  for (std::size_t row = 0; row < x.size() / width; ++row) {
    for (std::size_t output = 0; output < outputs; ++output) {
      double sum = 0, magnitude = 0;
      for (std::size_t i = 0; i < width; ++i) {
        const double product = static_cast<double>(x[row * width + i]) *
                               static_cast<double>(weight.values[output * width + i]);
        sum += product;
        magnitude += std::fabs(product);
      }
      expected.sums.push_back(sum);
      expected.magnitudes.push_back(magnitude);
    }
  }
  return expected;
}

}  // namespace tandem::gpu_kernels
