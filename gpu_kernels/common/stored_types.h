// SPDX-License-Identifier: Apache-2.0
//
// The layout of weights in device memory: plain floats, or the blocks of GGUF files byte for byte.
//
// Members, sizes and meanings of the blocks are those of host/tensor/quantized_blocks.h, whose
// comments explain them; a test dequantises the same bytes both ways. A matrix begins at a multiple
// of 16 bytes, and its rows follow each other without gaps. So a block is only aligned to its
// kAlignment bytes. Host and device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/floats.h"

namespace tandem::gpu_kernels {

enum class StoredType : std::uint8_t {
  kF32,
  kF16,
  kBF16,
  kE4M3,
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kIQ4_NL,
  kQ4_K,
  kQ5_K,
  kQ6_K
};

// The line above each block is the formula of a value: d is `scale`, m and dmin are `min`.
// d * q
struct BlockQ8_0 {
  static constexpr int kValues = 32, kAlignment = 2;
  std::uint16_t scale;  // f16
  std::uint8_t q[32];   // int8
};

// In all blocks of 32 values with nibbles, byte i holds value i (low) and value i + 16 (high).
// d * (q - 8)
struct BlockQ4_0 {
  static constexpr int kValues = 32, kAlignment = 2;
  std::uint16_t scale;
  std::uint8_t nibbles[16];
};

// d * q + m
struct BlockQ4_1 {
  static constexpr int kValues = 32, kAlignment = 4;
  std::uint16_t scale, min;
  std::uint8_t nibbles[16];
};

// d * (q - 16); bit i of the 32 high bits is bit 4 of value i
struct BlockQ5_0 {
  static constexpr int kValues = 32, kAlignment = 2;
  std::uint16_t scale;
  std::uint8_t high_bits[4];
  std::uint8_t nibbles[16];
};

// d * q + m
struct BlockQ5_1 {
  static constexpr int kValues = 32, kAlignment = 8;
  std::uint16_t scale, min;
  std::uint8_t high_bits[4];
  std::uint8_t nibbles[16];
};

// d * table[q]
struct BlockIQ4_NL {
  static constexpr int kValues = 32, kAlignment = 2;
  std::uint16_t scale;
  std::uint8_t nibbles[16];
};

// d * s_j * q - dmin * m_j, 8 sub-blocks j of 32 values; byte 32 * (j / 2) + i of the nibbles has
// value i of sub-block j, low when j is even.
struct BlockQ4_K {
  static constexpr int kValues = 256, kAlignment = 16;
  std::uint16_t scale, min;
  std::uint8_t scales[12];
  std::uint8_t nibbles[128];
};

// The same with a fifth bit: bit j of high_bits[i].
struct BlockQ5_K {
  static constexpr int kValues = 256, kAlignment = 16;
  std::uint16_t scale, min;
  std::uint8_t scales[12];
  std::uint8_t high_bits[32];
  std::uint8_t nibbles[128];
};

// d * s_j * (q - 32), 16 sub-blocks j of 16 values.
struct BlockQ6_K {
  static constexpr int kValues = 256, kAlignment = 2;
  std::uint8_t nibbles[128];   // 64 bytes per half
  std::uint8_t high_bits[64];  // 32 bytes per half
  std::uint8_t scales[16];     // int8
  std::uint16_t scale;
};

static_assert(sizeof(BlockQ8_0) == 34 && sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20);
static_assert(sizeof(BlockQ5_0) == 22 && sizeof(BlockQ5_1) == 24 && sizeof(BlockIQ4_NL) == 18);
static_assert(sizeof(BlockQ4_K) == 144 && sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210);

// Calls body() with a value of the type of a row's elements: a block type, or one of the floats
// f32, F16, BF16, E4M3.
template <typename Body>
auto with_stored(StoredType type, Body&& body) {
  switch (type) {
    case StoredType::kF16:
      return body(F16{});
    case StoredType::kBF16:
      return body(BF16{});
    case StoredType::kE4M3:
      return body(E4M3{});
    case StoredType::kQ8_0:
      return body(BlockQ8_0{});
    case StoredType::kQ4_0:
      return body(BlockQ4_0{});
    case StoredType::kQ4_1:
      return body(BlockQ4_1{});
    case StoredType::kQ5_0:
      return body(BlockQ5_0{});
    case StoredType::kQ5_1:
      return body(BlockQ5_1{});
    case StoredType::kIQ4_NL:
      return body(BlockIQ4_NL{});
    case StoredType::kQ4_K:
      return body(BlockQ4_K{});
    case StoredType::kQ5_K:
      return body(BlockQ5_K{});
    case StoredType::kQ6_K:
      return body(BlockQ6_K{});
    default:
      return body(float{});
  }
}

// Whether a row is made of blocks of more than one value.
template <typename Stored>
inline constexpr bool kIsBlock = requires {
  Stored::kValues;
};

template <typename Stored>
inline constexpr int kValuesOf = 1;
template <typename Stored>
requires kIsBlock<Stored>
inline constexpr int kValuesOf<Stored> = Stored::kValues;

inline int values_per_block(StoredType type) {
  return with_stored(type, [](auto stored) { return kValuesOf<decltype(stored)>; });
}

// Bytes of a row of `width` values, a multiple of the block.
inline std::size_t row_bytes(StoredType type, std::size_t width) {
  return with_stored(type, [width](auto stored) {
    return width / static_cast<std::size_t>(kValuesOf<decltype(stored)>) * sizeof(stored);
  });
}

}  // namespace tandem::gpu_kernels
