// SPDX-License-Identifier: Apache-2.0
//
// Rows of every float and quantised type to f32, block by block, in the order of operations of
// GGUF's reference reader: the scale of a sub-block is rounded to f32 before it multiplies.
#include <cstring>

#include "common/error.h"
#include "tensor/dtype.h"

namespace tandem {
namespace {

void dequantize(const BlockQ8_0& block, float* to) {
  const float scale = f16_to_f32(block.scale);
  for (int i = 0; i < BlockQ8_0::kValues; ++i) to[i] = scale * static_cast<float>(block.q[i]);
}

void dequantize(const BlockQ4_0& block, float* to) {
  const float scale = f16_to_f32(block.scale);
  for (int i = 0; i < 16; ++i) {
    to[i] = scale * static_cast<float>((block.nibbles[i] & 15) - 8);
    to[i + 16] = scale * static_cast<float>((block.nibbles[i] >> 4) - 8);
  }
}

void dequantize(const BlockQ4_1& block, float* to) {
  const float scale = f16_to_f32(block.scale), min = f16_to_f32(block.min);
  for (int i = 0; i < 16; ++i) {
    to[i] = scale * static_cast<float>(block.nibbles[i] & 15) + min;
    to[i + 16] = scale * static_cast<float>(block.nibbles[i] >> 4) + min;
  }
}

// The 5 bits of value 0..31.
template <typename Block>
int five_bits(const Block& block, int value) {
  const int low = value < 16 ? block.nibbles[value] & 15 : block.nibbles[value - 16] >> 4;
  return low | (((block.high_bits[value / 8] >> (value % 8)) & 1) << 4);
}

void dequantize(const BlockQ5_0& block, float* to) {
  const float scale = f16_to_f32(block.scale);
  for (int i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(five_bits(block, i) - 16);
}

void dequantize(const BlockQ5_1& block, float* to) {
  const float scale = f16_to_f32(block.scale), min = f16_to_f32(block.min);
  for (int i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(five_bits(block, i)) + min;
}

void dequantize(const BlockIQ4_NL& block, float* to) {
  const float scale = f16_to_f32(block.scale);
  for (int i = 0; i < 16; ++i) {
    to[i] = scale * static_cast<float>(kIQ4NLValues[block.nibbles[i] & 15]);
    to[i + 16] = scale * static_cast<float>(kIQ4NLValues[block.nibbles[i] >> 4]);
  }
}

template <typename Block, typename Value>
void dequantize_sub_blocks(const Block& block, float* to, const Value& value) {
  const float d = f16_to_f32(block.scale), dmin = f16_to_f32(block.min);
  for (int sub = 0; sub < Block::kSubBlocks; ++sub, to += 32) {
    const KScale k = unpack_k_scale(block.scales, sub);
    const float scale = d * static_cast<float>(k.scale), min = dmin * static_cast<float>(k.min);
    for (int i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(value(sub, i)) - min;
  }
}

void dequantize(const BlockQ4_K& block, float* to) {
  dequantize_sub_blocks(block, to, [&](int sub, int i) {
    return (block.nibbles[sub / 2 * 32 + i] >> (sub % 2 * 4)) & 15;
  });
}

void dequantize(const BlockQ5_K& block, float* to) {
  dequantize_sub_blocks(block, to, [&](int sub, int i) {
    const int low = (block.nibbles[sub / 2 * 32 + i] >> (sub % 2 * 4)) & 15;
    return low | (((block.high_bits[i] >> sub) & 1) << 4);
  });
}

void dequantize(const BlockQ6_K& block, float* to) {
  const float d = f16_to_f32(block.scale);
  for (int value = 0; value < BlockQ6_K::kValues; ++value) {
    const int half = value / 128, quarter = value % 128 / 32, i = value % 32;
    const std::uint8_t nibbles = block.nibbles[half * 64 + quarter % 2 * 32 + i];
    const int low = (nibbles >> (quarter / 2 * 4)) & 15;
    const int high = (block.high_bits[half * 32 + i] >> (quarter * 2)) & 3;
    const float scale = d * static_cast<float>(block.scales[value / 16]);
    to[value] = scale * static_cast<float>((low | (high << 4)) - 32);
  }
}

template <typename Block>
void dequantize_blocks(const std::byte* from, float* to, std::size_t num_values) {
  for (std::size_t i = 0; i < num_values; i += Block::kValues, from += sizeof(Block)) {
    Block block;  // file data need not be aligned
    std::memcpy(&block, from, sizeof block);
    dequantize(block, to + i);
  }
}

void widen(DType dtype, const std::byte* from, float* to, std::size_t num_values) {
  for (std::size_t i = 0; i < num_values; ++i) {
    std::uint16_t value;
    std::memcpy(&value, from + i * 2, 2);
    to[i] = dtype == DType::kF16 ? f16_to_f32(value) : bf16_to_f32(value);
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
      return widen(dtype, from, to, num_values);
    case DType::kF8E4M3:
      for (std::size_t i = 0; i < num_values; ++i)
        to[i] = f8_to_f32(std::to_integer<std::uint8_t>(from[i]));
      return;
    case DType::kQ8_0:
      return dequantize_blocks<BlockQ8_0>(from, to, num_values);
    case DType::kQ4_0:
      return dequantize_blocks<BlockQ4_0>(from, to, num_values);
    case DType::kQ4_1:
      return dequantize_blocks<BlockQ4_1>(from, to, num_values);
    case DType::kQ5_0:
      return dequantize_blocks<BlockQ5_0>(from, to, num_values);
    case DType::kQ5_1:
      return dequantize_blocks<BlockQ5_1>(from, to, num_values);
    case DType::kQ4_K:
      return dequantize_blocks<BlockQ4_K>(from, to, num_values);
    case DType::kQ5_K:
      return dequantize_blocks<BlockQ5_K>(from, to, num_values);
    case DType::kQ6_K:
      return dequantize_blocks<BlockQ6_K>(from, to, num_values);
    case DType::kIQ4_NL:
      return dequantize_blocks<BlockIQ4_NL>(from, to, num_values);
    case DType::kI8:
    case DType::kI32:
    case DType::kF64:
    case DType::kU64:
      break;
  }
  throw Error("tensor", "cannot convert " + std::string(dtype_name(dtype)) + " to f32");
}

}  // namespace tandem
