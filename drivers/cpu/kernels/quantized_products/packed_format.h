// SPDX-License-Identifier: Apache-2.0
//
// The order in which quantised weights are kept for products, the same for every instruction set.
//
// A panel is 16 outputs: first all its codes, then all its scales (see PackedFormat). Plain values;
// threads: any.
#pragma once

#include <cstddef>

#include "tensor/dtype.h"

namespace tandem::device::cpu {

inline constexpr std::size_t kPanelOutputs = 16;
inline constexpr std::size_t kBlockInputs = 32;
inline constexpr std::size_t kSuperBlocks = 8;  // blocks of a super-block

// Codes: per block of 32 inputs `code_bits` lines of 64 bytes, [16 outputs][4 inputs]. Quad q is
// inputs 4 q .. 4 q + 3 of the block.
//   4 bits   line q, q < 4: quad q in the low half of each byte, quad q + 4 in the high half
//   5 bits   as 4 bits; line 4: bit 4 of quad q at bit q
//   6 bits   as 4 bits; lines 4 and 5: bits 4-5 of quads 0..3 and 4..7, at bits 2 (q mod 4)
//   8 bits   line q: quad q
// Scales: per block [16] f16 scales, then [16] f16 minima. With super-blocks (8 blocks): per
// super-block [16] f16 d and [16] f16 dmin; then per block [16] bytes of scales (twice if halves
// have their own) and [16] bytes of minima. A weight is
//   x = scale * (code - offset) + min   (super-blocks: d * s * (code - offset) - dmin * m).
struct PackedFormat {
  int code_bits = 0;
  int offset = 0;
  bool has_min = false;
  bool super_blocks = false;
  bool halves = false;    // 16 inputs share a signed scale, instead of 32
  bool codebook = false;  // codes are indices of kIQ4NLValues; the kernels add 128 to its values

  constexpr std::size_t codes_bytes() const {  // size of the codes of a block
    return static_cast<std::size_t>(code_bits) * kPanelOutputs * 4;
  }
  constexpr std::size_t head_bytes() const {  // size of the f16 scales
    return kPanelOutputs * 2 * (has_min ? 2 : 1);
  }
  constexpr std::size_t sub_bytes() const {  // size of the 8-bit scales of a block
    return kPanelOutputs * ((halves ? 2 : 1) + (has_min ? 1 : 0));
  }
  constexpr std::size_t panel_bytes(std::size_t blocks) const {
    const std::size_t scales =
        super_blocks ? blocks / kSuperBlocks * (head_bytes() + kSuperBlocks * sub_bytes())
                     : blocks * head_bytes();
    return (blocks * codes_bytes() + scales + 63) / 64 * 64;
  }
};

// code_bits is 0 for types that are not packed.
constexpr PackedFormat packed_format(DType dtype) {
  switch (dtype) {
    case DType::kQ8_0:
      return {8, 128};
    case DType::kQ4_0:
      return {4, 8};
    case DType::kQ4_1:
      return {.code_bits = 4, .has_min = true};
    case DType::kQ5_0:
      return {5, 16};
    case DType::kQ5_1:
      return {.code_bits = 5, .has_min = true};
    case DType::kIQ4_NL:
      return {.code_bits = 4, .offset = 128, .codebook = true};
    case DType::kQ4_K:
      return {.code_bits = 4, .has_min = true, .super_blocks = true};
    case DType::kQ5_K:
      return {.code_bits = 5, .has_min = true, .super_blocks = true};
    case DType::kQ6_K:
      return {.code_bits = 6, .offset = 32, .super_blocks = true, .halves = true};
    default:
      return {};
  }
}

}  // namespace tandem::device::cpu
