// SPDX-License-Identifier: Apache-2.0
//
// Element types of weights, activations and KV pages, and the block layouts of the quantised ones.
//
// Quantised types store blocks of 32 values along a row (the layout of GGUF):
//   kQ8_0: f16 scale d, 32 x int8 q;          x = d * q                       34 bytes
//   kQ4_0: f16 scale d, 16 bytes of nibbles;  x = d * (nibble - 8)            18 bytes; low nibbles
//   are values 0..15
// kF64 and kU64 are gradients' types (host/collectives); no model has them. kI8 is plain signed
// bytes (KV pages; its scales are stated by whoever uses it).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tandem {

enum class DType : std::uint8_t { kF32, kF16, kBF16, kI8, kI32, kQ8_0, kQ4_0, kF64, kU64 };

struct BlockQ8_0 {
  static constexpr int kValues = 32;
  std::uint16_t scale;  // f16
  std::int8_t q[kValues];
};
static_assert(sizeof(BlockQ8_0) == 34);

struct BlockQ4_0 {
  static constexpr int kValues = 32;
  std::uint16_t scale;  // f16
  std::uint8_t nibbles[kValues / 2];
};
static_assert(sizeof(BlockQ4_0) == 18);

std::string_view dtype_name(DType dtype);  // "f32", "q8_0", ...

int dtype_block_values(DType dtype);         // values per block: 1, or 32 for quantised types
std::size_t dtype_block_bytes(DType dtype);  // bytes per block

// Bytes of a row of `num_values`, which must be a multiple of the block.
std::size_t dtype_row_bytes(DType dtype, std::size_t num_values);

// IEEE half and bfloat16, scalar; round to nearest even; NaN stays NaN.
float f16_to_f32(std::uint16_t half);
std::uint16_t f32_to_f16(float value);
inline float bf16_to_f32(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}
std::uint16_t f32_to_bf16(float value);

// Converts `num_values` (a multiple of the block) of any float or quantised type to f32.
void dequantize_row(DType dtype, const std::byte* from, float* to, std::size_t num_values);

// The reference quantiser of GGUF's Q8_0: d = max|x| / 127, q = round(x / d).
void quantize_row_q8_0(const float* from, BlockQ8_0* to, std::size_t num_values);

}  // namespace tandem
