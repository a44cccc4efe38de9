// SPDX-License-Identifier: Apache-2.0
//
// Element types of weights, activations and KV pages: names, block sizes, scalar conversions.
//
// Quantised types store blocks of 32 or 256 values along a row (layouts: quantized_blocks.h). kF64
// and kU64 are gradients' types (host/collectives); no model has them. kI8 is plain signed bytes
// (KV pages; the user of the bytes states their scales). kF8E4M3 is a type of KV pages and of
// matrices with separate scales (weight_scales.h): OCP E4M3FN, 1 sign, 4 exponent (bias 7) and 3
// mantissa bits, no infinity, largest 448. The conversions are scalar: a reference, not a hot path
// (see drivers/cpu).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensor/quantized_blocks.h"

namespace tandem {

enum class DType : std::uint8_t {
  kF32,
  kF16,
  kBF16,
  kI8,
  kI32,
  kQ8_0,
  kQ4_0,
  kF64,
  kU64,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kF8E4M3
};

std::string_view dtype_name(DType dtype);  // "f32", "q8_0", "q4_k", "f8_e4m3", ...

int dtype_block_values(DType dtype);         // values per block: 1, 32 or 256
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

// E4M3FN; rounds to nearest even, saturates at 448 (infinity too), NaN stays NaN.
float f8_to_f32(std::uint8_t value);
std::uint8_t f32_to_f8(float value);

// Converts `num_values` (a multiple of the block) of any float or quantised type to f32. Error on
// integer types and kF64.
void dequantize_row(DType dtype, const std::byte* from, float* to, std::size_t num_values);

}  // namespace tandem
