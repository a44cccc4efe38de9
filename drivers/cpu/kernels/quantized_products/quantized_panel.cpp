// SPDX-License-Identifier: Apache-2.0
//
// pack_quantized_panel(): converts the blocks of every type, 32 inputs at a time, to the words of
// the lines of a panel.
#include "cpu/kernels/quantized_products/quantized_panel.h"

#include <cstring>

#include "cpu/kernels/quantized_products/packed_format.h"

namespace tandem::device::cpu {
namespace {

std::uint32_t word_at(const std::uint8_t* bytes) {
  std::uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Lines 0..3 from the nibbles of 32 values in 32 bytes, at bit `shift` of each.
void nibble_lines(const std::uint8_t* bytes, int shift, std::uint32_t* lines) {
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t low = (word_at(bytes + 4 * i) >> shift) & 0x0f0f0f0fu;
    const std::uint32_t high = (word_at(bytes + 16 + 4 * i) >> shift) & 0x0f0f0f0fu;
    lines[i] = low | (high << 4);
  }
}

// A line of high bits of `quads` quads, from bytes that hold a value's bits at bit `shift`.
std::uint32_t high_line(const std::uint8_t* bytes, int shift, int quads) {
  const int width = 8 / quads;
  const std::uint32_t mask = width == 1 ? 0x01010101u : 0x03030303u;
  std::uint32_t line = 0;
  for (int quad = 0; quad < quads; ++quad) {
    line |= ((word_at(bytes + 4 * quad) >> shift) & mask) << (quad * width);
  }
  return line;
}

// The same from 32 bits in a row, bit i of value i.
std::uint32_t high_line(const std::uint8_t bits[4]) {
  const std::uint32_t all = word_at(bits);
  std::uint32_t line = 0;
  for (int input = 0; input < 4; ++input) {  // of a quad: every fourth bit becomes a byte
    std::uint32_t bit = (all >> input) & 0x11111111u;
    bit = (bit | (bit >> 3)) & 0x03030303u;
    bit = (bit | (bit >> 6)) & 0x000f000fu;
    line |= ((bit | (bit >> 12)) & 0xffu) << (8 * input);
  }
  return line;
}

// lines_of(): block `sub` of 32 inputs of a stored block, a word per line.
void lines_of(const BlockQ8_0& block, int, std::uint32_t* lines) {
  std::memcpy(lines, block.q, sizeof block.q);
  for (int i = 0; i < 8; ++i) lines[i] ^= 0x80808080u;  // + 128
}

template <typename Block>
requires(sizeof(Block::nibbles) == 16) void lines_of(const Block& block, int,
                                                     std::uint32_t* lines) {
  std::memcpy(lines, block.nibbles, sizeof block.nibbles);
  if constexpr (requires { block.high_bits; }) lines[4] = high_line(block.high_bits);
}

void lines_of(const BlockQ4_K& block, int sub, std::uint32_t* lines) {
  nibble_lines(block.nibbles + sub / 2 * 32, sub % 2 * 4, lines);
}

void lines_of(const BlockQ5_K& block, int sub, std::uint32_t* lines) {
  nibble_lines(block.nibbles + sub / 2 * 32, sub % 2 * 4, lines);
  lines[4] = high_line(block.high_bits, sub, 8);
}

void lines_of(const BlockQ6_K& block, int sub, std::uint32_t* lines) {
  const int half = sub / 4, quarter = sub % 4;
  nibble_lines(block.nibbles + half * 64 + quarter % 2 * 32, quarter / 2 * 4, lines);
  const std::uint8_t* high = block.high_bits + half * 32;
  lines[4] = high_line(high, quarter * 2, 4);
  lines[5] = high_line(high + 16, quarter * 2, 4);
}

// The bytes of a sub-block's scales, [kPanelOutputs] apart.
template <typename Block>
void write_sub_scales(const Block& block, int sub, std::byte* to) {
  if constexpr (requires { unpack_k_scale(block.scales, sub); }) {
    const KScale k = unpack_k_scale(block.scales, sub);
    to[0] = static_cast<std::byte>(k.scale);
    to[kPanelOutputs] = static_cast<std::byte>(k.min);
  } else {
    to[0] = static_cast<std::byte>(block.scales[2 * sub]);
    to[kPanelOutputs] = static_cast<std::byte>(block.scales[2 * sub + 1]);
  }
}

// One stored block of output `output` of the panel; `index` counts stored blocks along the row.
template <PackedFormat F, typename Block>
void pack_block(const Block& block, std::size_t index, std::size_t output, std::byte* codes,
                std::byte* scales) {
  constexpr std::size_t kSubs = Block::kValues / kBlockInputs;
  constexpr std::size_t kScaleBytes = F.head_bytes() + (kSubs > 1 ? kSubs * F.sub_bytes() : 0);
  std::byte* head = scales + index * kScaleBytes;
  std::memcpy(head + output * 2, &block.scale, 2);
  if constexpr (F.has_min) std::memcpy(head + (kPanelOutputs + output) * 2, &block.min, 2);
  for (std::size_t sub = 0; sub < kSubs; ++sub) {
    std::uint32_t lines[F.code_bits];
    lines_of(block, static_cast<int>(sub), lines);
    std::byte* to = codes + (index * kSubs + sub) * F.codes_bytes() + output * 4;
    for (int line = 0; line < F.code_bits; ++line) {
      std::memcpy(to + line * kPanelOutputs * 4, &lines[line], 4);
    }
    if constexpr (kSubs > 1) {
      write_sub_scales(block, static_cast<int>(sub),
                       head + F.head_bytes() + sub * F.sub_bytes() + output);
    }
  }
}

template <typename Block, DType kType>
void pack_rows(const StoredRows& rows, std::byte* to) {
  constexpr PackedFormat kFormat = packed_format(kType);
  const std::size_t stored = rows.in_features / Block::kValues;
  std::byte* scales = to + rows.in_features / kBlockInputs * kFormat.codes_bytes();
  for (std::size_t index = 0; index < stored; ++index) {
    for (std::size_t output = 0; output < rows.outputs; ++output) {
      Block block;  // file data need not be aligned
      std::memcpy(&block, rows.data + (output * stored + index) * sizeof(Block), sizeof block);
      pack_block<kFormat>(block, index, output, to, scales);
    }
  }
}

}  // namespace

void pack_quantized_panel(const StoredRows& rows, std::byte* to) {
  switch (rows.dtype) {
    case DType::kQ4_0:
      return pack_rows<BlockQ4_0, DType::kQ4_0>(rows, to);
    case DType::kQ4_1:
      return pack_rows<BlockQ4_1, DType::kQ4_1>(rows, to);
    case DType::kQ5_0:
      return pack_rows<BlockQ5_0, DType::kQ5_0>(rows, to);
    case DType::kQ5_1:
      return pack_rows<BlockQ5_1, DType::kQ5_1>(rows, to);
    case DType::kIQ4_NL:
      return pack_rows<BlockIQ4_NL, DType::kIQ4_NL>(rows, to);
    case DType::kQ4_K:
      return pack_rows<BlockQ4_K, DType::kQ4_K>(rows, to);
    case DType::kQ5_K:
      return pack_rows<BlockQ5_K, DType::kQ5_K>(rows, to);
    case DType::kQ6_K:
      return pack_rows<BlockQ6_K, DType::kQ6_K>(rows, to);
    default:
      return pack_rows<BlockQ8_0, DType::kQ8_0>(rows, to);
  }
}

}  // namespace tandem::device::cpu
