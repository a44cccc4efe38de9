// SPDX-License-Identifier: Apache-2.0
//
// The blocks in which quantised rows are stored, as in GGUF files (little endian, f16 as bits).
// "small" blocks hold 32 values, the K types 256 in sub-blocks with quantised scales.
//
// Files place blocks at any byte: copy a block out before reading its f16 members. Each block's
// comment gives its value x. Source: the GGUF specification and its reference reader, the PyPI
// package gguf.
#pragma once

#include <cstdint>

namespace tandem {

// x = d * q, q int8; d is `scale`.
struct BlockQ8_0 {
  static constexpr int kValues = 32;
  std::uint16_t scale;  // f16
  std::int8_t q[kValues];
};
static_assert(sizeof(BlockQ8_0) == 34);

// x = d * (q - 8), q 4 bits. In all blocks of 32 values with nibbles, byte i holds value i (low)
// and value i + 16 (high).
struct BlockQ4_0 {
  static constexpr int kValues = 32;
  std::uint16_t scale;  // f16
  std::uint8_t nibbles[kValues / 2];
};
static_assert(sizeof(BlockQ4_0) == 18);

// x = d * q + m; m is `min`.
struct BlockQ4_1 {
  static constexpr int kValues = 32;
  std::uint16_t scale, min;  // f16
  std::uint8_t nibbles[kValues / 2];
};
static_assert(sizeof(BlockQ4_1) == 20);

// x = d * (q - 16), q 5 bits.
struct BlockQ5_0 {
  static constexpr int kValues = 32;
  std::uint16_t scale;        // f16
  std::uint8_t high_bits[4];  // bit i of the 32 is bit 4 of value i
  std::uint8_t nibbles[kValues / 2];
};
static_assert(sizeof(BlockQ5_0) == 22);

// x = d * q + m, q 5 bits.
struct BlockQ5_1 {
  static constexpr int kValues = 32;
  std::uint16_t scale, min;   // f16
  std::uint8_t high_bits[4];  // as in BlockQ5_0
  std::uint8_t nibbles[kValues / 2];
};
static_assert(sizeof(BlockQ5_1) == 24);

// x = d * kIQ4NLValues[q], q 4 bits.
struct BlockIQ4_NL {
  static constexpr int kValues = 32;
  std::uint16_t scale;  // f16
  std::uint8_t nibbles[kValues / 2];
};
static_assert(sizeof(BlockIQ4_NL) == 18);

inline constexpr std::int8_t kIQ4NLValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                 1,    13,   25,  38,  53,  69,  89,  113};

// x = d * s_j * q - dmin * m_j: 8 sub-blocks j of 32 values; s and m 6 bits, q 4 bits; d is
// `scale`, dmin is `min`. 32 bytes of nibbles hold 64 values: byte i has value i of the even
// sub-block (low) and of the next odd one (high).
struct BlockQ4_K {
  static constexpr int kValues = 256, kSubBlocks = 8;
  std::uint16_t scale, min;  // f16; of the sub-blocks' scales and mins
  std::uint8_t scales[12];   // see unpack_k_scale()
  std::uint8_t nibbles[kValues / 2];
};
static_assert(sizeof(BlockQ4_K) == 144);

// As BlockQ4_K, with q of 5 bits.
struct BlockQ5_K {
  static constexpr int kValues = 256, kSubBlocks = 8;
  std::uint16_t scale, min;    // f16
  std::uint8_t scales[12];     // as in BlockQ4_K
  std::uint8_t high_bits[32];  // bit j of byte i is bit 4 of value i of sub-block j
  std::uint8_t nibbles[kValues / 2];
};
static_assert(sizeof(BlockQ5_K) == 176);

// x = d * s_j * (q - 32): 16 sub-blocks j of 16 values; s int8, q 6 bits. Per half of 128 values:
// value v = 32 * quarter + i has its low 4 bits in nibble quarter / 2 (0: low) of byte 32 *
// (quarter % 2) + i, and its high 2 bits at bit 2 * quarter of high_bits[i].
struct BlockQ6_K {
  static constexpr int kValues = 256, kSubBlocks = 16;
  std::uint8_t nibbles[kValues / 2];    // 64 bytes per half
  std::uint8_t high_bits[kValues / 4];  // 32 bytes per half
  std::int8_t scales[kSubBlocks];
  std::uint16_t scale;  // f16
};
static_assert(sizeof(BlockQ6_K) == 210);

// The 6-bit scale and min of sub-block 0..7 of a q4_K or q5_K block. Bytes 0-3 and 4-7 hold the
// scales and mins of sub-blocks 0-3. Bytes 8-11 hold the low 4 bits of those of 4-7; their high 2
// bits are the top bits of bytes 0-3 and 4-7.
struct KScale {
  int scale = 0, min = 0;  // 0..63
};
inline KScale unpack_k_scale(const std::uint8_t scales[12], int sub_block) {
  const int j = sub_block;
  if (j < 4) return {scales[j] & 63, scales[j + 4] & 63};
  return {(scales[j + 4] & 15) | ((scales[j - 4] >> 6) << 4),
          (scales[j + 4] >> 4) | ((scales[j] >> 6) << 4)};
}

}  // namespace tandem
