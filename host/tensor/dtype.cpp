// SPDX-License-Identifier: Apache-2.0
//
// Scalar conversions between element types: the reference everyone may call, not a hot path (see
// drivers/cpu).
#include "tensor/dtype.h"

#include <cmath>
#include <cstring>

#include "common/error.h"

namespace tandem {

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kI8:
      return "i8";
    case DType::kI32:
      return "i32";
    case DType::kQ8_0:
      return "q8_0";
    case DType::kQ4_0:
      return "q4_0";
    case DType::kF64:
      return "f64";
    case DType::kU64:
      return "u64";
  }
  return "unknown";
}

int dtype_block_values(DType dtype) {
  return dtype == DType::kQ8_0 || dtype == DType::kQ4_0 ? 32 : 1;
}

std::size_t dtype_block_bytes(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kI8:
      return 1;
    case DType::kQ8_0:
      return sizeof(BlockQ8_0);
    case DType::kQ4_0:
      return sizeof(BlockQ4_0);
    case DType::kF64:
    case DType::kU64:
      return 8;
  }
  return 0;
}

std::size_t dtype_row_bytes(DType dtype, std::size_t num_values) {
  const auto block = static_cast<std::size_t>(dtype_block_values(dtype));
  TANDEM_CHECK_OP(num_values % block, ==, 0u);
  return num_values / block * dtype_block_bytes(dtype);
}

float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinity or NaN
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  }
  // Shifted into place the exponent is 112 too small; the multiplication also normalises
  // subnormals.
  const float shifted = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(shifted) | sign);
}

std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN, made quiet
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // rounds to 65536 or more
  if (magnitude < 0x38800000u) {                        // subnormal or zero in f16
    const float scaled =
        std::bit_cast<float>(magnitude) + 0.5f;  // the adder rounds to units of 2^-24
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(scaled) - 0x3f000000u);
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  return sign | static_cast<std::uint16_t>((magnitude - 0x38000000u + 0xfffu + odd) >> 13);
}

std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

namespace {

template <typename Block>
Block load_block(const std::byte* from, std::size_t index) {
  Block block;  // file data need not be aligned
  std::memcpy(&block, from + index * sizeof(Block), sizeof(Block));
  return block;
}

void dequantize_q8_0(const std::byte* from, float* to, std::size_t num_values) {
  for (std::size_t b = 0; b < num_values / BlockQ8_0::kValues; ++b) {
    const auto block = load_block<BlockQ8_0>(from, b);
    const float scale = f16_to_f32(block.scale);
    for (int i = 0; i < BlockQ8_0::kValues; ++i) *to++ = scale * static_cast<float>(block.q[i]);
  }
}

void dequantize_q4_0(const std::byte* from, float* to, std::size_t num_values) {
  for (std::size_t b = 0; b < num_values / BlockQ4_0::kValues; ++b) {
    const auto block = load_block<BlockQ4_0>(from, b);
    const float scale = f16_to_f32(block.scale);
    for (int i = 0; i < 16; ++i) {
      to[i] = scale * static_cast<float>((block.nibbles[i] & 0xf) - 8);
      to[i + 16] = scale * static_cast<float>((block.nibbles[i] >> 4) - 8);
    }
    to += BlockQ4_0::kValues;
  }
}

}  // namespace

void dequantize_row(DType dtype, const std::byte* from, float* to, std::size_t num_values) {
  TANDEM_CHECK_OP(num_values % static_cast<std::size_t>(dtype_block_values(dtype)), ==, 0u);
  switch (dtype) {
    case DType::kF32:
      std::memcpy(to, from, num_values * sizeof(float));
      return;
    case DType::kF16:
    case DType::kBF16:
      for (std::size_t i = 0; i < num_values; ++i) {
        std::uint16_t value;
        std::memcpy(&value, from + i * 2, 2);
        to[i] = dtype == DType::kF16 ? f16_to_f32(value) : bf16_to_f32(value);
      }
      return;
    case DType::kQ8_0:
      dequantize_q8_0(from, to, num_values);
      return;
    case DType::kQ4_0:
      dequantize_q4_0(from, to, num_values);
      return;
    case DType::kI8:
    case DType::kI32:
    case DType::kF64:
    case DType::kU64:
      break;
  }
  throw Error("tensor", "cannot convert " + std::string(dtype_name(dtype)) + " to f32");
}

void quantize_row_q8_0(const float* from, BlockQ8_0* to, std::size_t num_values) {
  TANDEM_CHECK_OP(num_values % BlockQ8_0::kValues, ==, 0u);
  for (std::size_t b = 0; b < num_values / BlockQ8_0::kValues; ++b, from += BlockQ8_0::kValues) {
    float peak = 0.0f;
    for (int i = 0; i < BlockQ8_0::kValues; ++i) peak = std::fmax(peak, std::fabs(from[i]));
    const float scale = peak / 127.0f;
    const float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
    to[b].scale = f32_to_f16(scale);
    for (int i = 0; i < BlockQ8_0::kValues; ++i) {
      to[b].q[i] = static_cast<std::int8_t>(std::lround(from[i] * inverse));
    }
  }
}

}  // namespace tandem
