// SPDX-License-Identifier: Apache-2.0
//
// Rows and blocks of 32 values; the K types' blocks are in quantize_k.cpp.
#include "tensor/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/error.h"
#include "tensor/quantize_blocks.h"
#include "tensor/scale_search.h"

namespace tandem {
namespace {

constexpr int kSmallBlock = 32;

// codes: 32 of 0..15, value i and value i + 16 in one byte.
void pack_nibbles(const int* codes, std::uint8_t* to) {
  for (int i = 0; i < 16; ++i) {
    to[i] = static_cast<std::uint8_t>((codes[i] & 15) | ((codes[i + 16] & 15) << 4));
  }
}

// codes: 32 of 0..31.
template <typename Block>
void pack_five_bits(const int* codes, Block& to) {
  pack_nibbles(codes, to.nibbles);
  std::fill(std::begin(to.high_bits), std::end(to.high_bits), std::uint8_t{0});
  for (int i = 0; i < kSmallBlock; ++i) {
    to.high_bits[i / 8] |= static_cast<std::uint8_t>((codes[i] >> 4) << (i % 8));
  }
}

// The scale of x ~ scale * (code - middle), and the codes.
std::uint16_t fit_centred(const float* from, int middle, int* codes) {
  const std::span<const float> x(from, kSmallBlock);
  const std::uint16_t scale = stored_scale(search_scale(x, -middle, middle - 1));
  const float inverse = stored_inverse(scale);
  for (int i = 0; i < kSmallBlock; ++i) {
    codes[i] = nearest_level(from[i], inverse, -middle, middle - 1) + middle;
  }
  return scale;
}

// Scale and min of x ~ scale * code + min into the block, and the codes.
template <typename Block>
void fit_with_min(const float* from, int high, Block& to, int* codes) {
  const ScaleMin fit = search_scale_min(std::span<const float>(from, kSmallBlock), high);
  to.scale = stored_scale(fit.scale);
  to.min = stored_scale(fit.min);
  const float inverse = stored_inverse(to.scale), min = f16_to_f32(to.min);
  for (int i = 0; i < kSmallBlock; ++i) codes[i] = nearest_level(from[i] - min, inverse, 0, high);
}

template <typename Block>
void quantize_blocks(const float* from, std::byte* to, std::size_t num_values) {
  for (std::size_t i = 0; i < num_values; i += Block::kValues, to += sizeof(Block)) {
    Block block;
    quantize_block(from + i, block);
    std::memcpy(to, &block, sizeof block);
  }
}

void narrow(DType dtype, const float* from, std::byte* to, std::size_t num_values) {
  for (std::size_t i = 0; i < num_values; ++i) {
    const std::uint16_t value = dtype == DType::kF16 ? f32_to_f16(from[i]) : f32_to_bf16(from[i]);
    std::memcpy(to + i * 2, &value, 2);
  }
}

void check_finite(const float* from, std::size_t num_values) {
  for (std::size_t i = 0; i < num_values; ++i) {
    if (!std::isfinite(from[i])) {
      throw Error("tensor", "value " + std::to_string(i) + " of a row is " +
                                std::to_string(from[i]) + "; only finite values can be quantised");
    }
  }
}

}  // namespace

std::uint16_t stored_scale(float scale) {
  return f32_to_f16(std::clamp(scale, -65504.0f, 65504.0f));
}

float stored_inverse(std::uint16_t scale) {
  const float value = f16_to_f32(scale);
  return value != 0.0f ? 1.0f / value : 0.0f;
}

void quantize_block(const float* from, BlockQ8_0& to) {
  float peak = 0.0f;
  for (int i = 0; i < kSmallBlock; ++i) peak = std::max(peak, std::fabs(from[i]));
  to.scale = stored_scale(peak / 127.0f);
  const float inverse = stored_inverse(to.scale);
  for (int i = 0; i < kSmallBlock; ++i) {
    to.q[i] = static_cast<std::int8_t>(nearest_level(from[i], inverse, -127, 127));
  }
}

void quantize_block(const float* from, BlockQ4_0& to) {
  int codes[kSmallBlock];
  to.scale = fit_centred(from, 8, codes);
  pack_nibbles(codes, to.nibbles);
}

void quantize_block(const float* from, BlockQ4_1& to) {
  int codes[kSmallBlock];
  fit_with_min(from, 15, to, codes);
  pack_nibbles(codes, to.nibbles);
}

void quantize_block(const float* from, BlockQ5_0& to) {
  int codes[kSmallBlock];
  to.scale = fit_centred(from, 16, codes);
  pack_five_bits(codes, to);
}

void quantize_block(const float* from, BlockQ5_1& to) {
  int codes[kSmallBlock];
  fit_with_min(from, 31, to, codes);
  pack_five_bits(codes, to);
}

void quantize_block(const float* from, BlockIQ4_NL& to) {
  int codes[kSmallBlock];
  to.scale = stored_scale(search_iq4_nl_scale(std::span<const float>(from, kSmallBlock)));
  const float inverse = stored_inverse(to.scale);
  for (int i = 0; i < kSmallBlock; ++i) codes[i] = nearest_iq4_nl(from[i] * inverse);
  pack_nibbles(codes, to.nibbles);
}

std::span<const DType> quantizable_types() {
  static constexpr DType kTypes[] = {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1,
                                     DType::kQ5_0, DType::kQ5_1, DType::kIQ4_NL,
                                     DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};
  return kTypes;
}

bool can_quantize(DType dtype) {
  return std::ranges::find(quantizable_types(), dtype) != quantizable_types().end();
}

void quantize_row(DType dtype, const float* from, std::byte* to, std::size_t num_values) {
  TANDEM_CHECK_OP(num_values % static_cast<std::size_t>(dtype_block_values(dtype)), ==, 0u);
  check_finite(from, num_values);
  switch (dtype) {
    case DType::kF32:
      std::memcpy(to, from, num_values * sizeof(float));
      return;
    case DType::kF16:
    case DType::kBF16:
      return narrow(dtype, from, to, num_values);
    case DType::kQ8_0:
      return quantize_blocks<BlockQ8_0>(from, to, num_values);
    case DType::kQ4_0:
      return quantize_blocks<BlockQ4_0>(from, to, num_values);
    case DType::kQ4_1:
      return quantize_blocks<BlockQ4_1>(from, to, num_values);
    case DType::kQ5_0:
      return quantize_blocks<BlockQ5_0>(from, to, num_values);
    case DType::kQ5_1:
      return quantize_blocks<BlockQ5_1>(from, to, num_values);
    case DType::kQ4_K:
      return quantize_blocks<BlockQ4_K>(from, to, num_values);
    case DType::kQ5_K:
      return quantize_blocks<BlockQ5_K>(from, to, num_values);
    case DType::kQ6_K:
      return quantize_blocks<BlockQ6_K>(from, to, num_values);
    case DType::kIQ4_NL:
      return quantize_blocks<BlockIQ4_NL>(from, to, num_values);
    case DType::kI8:
    case DType::kI32:
    case DType::kF64:
    case DType::kU64:
    case DType::kF8E4M3:
      break;
  }
  throw Error("tensor", std::string(dtype_name(dtype)) + " is not a type of weight");
}

}  // namespace tandem
