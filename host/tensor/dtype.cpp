// SPDX-License-Identifier: Apache-2.0
//
// The table of element types, and the conversions between f32 and the narrower floats.
#include "tensor/dtype.h"

#include "common/error.h"

namespace tandem {
namespace {

struct TypeFacts {
  std::string_view name;
  int block_values;
  std::size_t block_bytes;
};

template <typename Block>
constexpr TypeFacts block_of(std::string_view name) {
  return {name, Block::kValues, sizeof(Block)};
}

// In the order of DType.
constexpr TypeFacts kTypes[] = {
    {"f32", 1, 4},
    {"f16", 1, 2},
    {"bf16", 1, 2},
    {"i8", 1, 1},
    {"i32", 1, 4},
    block_of<BlockQ8_0>("q8_0"),
    block_of<BlockQ4_0>("q4_0"),
    {"f64", 1, 8},
    {"u64", 1, 8},
    block_of<BlockQ4_1>("q4_1"),
    block_of<BlockQ5_0>("q5_0"),
    block_of<BlockQ5_1>("q5_1"),
    block_of<BlockQ4_K>("q4_k"),
    block_of<BlockQ5_K>("q5_k"),
    block_of<BlockQ6_K>("q6_k"),
    block_of<BlockIQ4_NL>("iq4_nl"),
    {"f8_e4m3", 1, 1},
};
constexpr std::size_t kNumTypes = sizeof(kTypes) / sizeof(kTypes[0]);
static_assert(kNumTypes == static_cast<std::size_t>(DType::kF8E4M3) + 1);

const TypeFacts& facts(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  TANDEM_CHECK_OP(index, <, kNumTypes);
  return kTypes[index];
}

}  // namespace

std::string_view dtype_name(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return index < kNumTypes ? kTypes[index].name : "unknown";
}

int dtype_block_values(DType dtype) { return facts(dtype).block_values; }

std::size_t dtype_block_bytes(DType dtype) { return facts(dtype).block_bytes; }

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

float f8_to_f32(std::uint8_t value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value & 0x80u) << 24;
  const std::uint32_t magnitude = value & 0x7fu;
  if (magnitude == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  // As for f16: the exponent in place is 120 too small.
  const float shifted = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(shifted) | sign);
}

std::uint8_t f32_to_f8(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint8_t>((bits >> 24) & 0x80u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7fu;   // NaN
  if (magnitude >= 0x43e00000u) return sign | 0x7eu;  // 448 or more
  if (magnitude < 0x3c800000u) {                      // below 2^-6: subnormal or zero
    const float scaled =
        std::bit_cast<float>(magnitude) + 16384.0f;  // the adder rounds to units of 2^-9
    return sign | static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(scaled) - 0x46800000u);
  }
  const std::uint32_t odd = (magnitude >> 20) & 1u;
  return sign | static_cast<std::uint8_t>((magnitude - 0x3c000000u + 0x7ffffu + odd) >> 20);
}

}  // namespace tandem
