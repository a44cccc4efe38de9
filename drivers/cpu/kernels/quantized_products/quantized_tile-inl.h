// SPDX-License-Identifier: Apache-2.0
//
// The register tile of quantized_products.h: kR rows x kC panels over a range of blocks, once per
// instruction set and packed format.
//
// Per block, the codes of a quad are expanded to bytes and multiplied with every row. Then the
// int32 sums are scaled and added to the f32 sums, which stay in registers over the blocks.
#if defined(TANDEM_CPU_QUANTIZED_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_CPU_QUANTIZED_TILE_INL_H_
#undef TANDEM_CPU_QUANTIZED_TILE_INL_H_
#else
#define TANDEM_CPU_QUANTIZED_TILE_INL_H_
#endif

#include <algorithm>
#include <bit>

#include "cpu/kernels/quantized_products/dot-inl.h"
#include "cpu/kernels/quantized_products/packed_format.h"
#include "cpu/kernels/quantized_products/quantized_rows.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {

inline constexpr std::size_t kLine = kPanelOutputs * 4;
inline constexpr int kPanelVectors = static_cast<int>(kPanelOutputs / kLanes);

HWY_INLINE Words load_words(const std::byte* from) {
  return hn::LoadU(kW, reinterpret_cast<const std::uint32_t*>(from));
}

template <int kBy>  // shifts to the left if kBy > 0, else to the right by -kBy
HWY_INLINE Words shift(Words value) {
  if constexpr (kBy > 0) return hn::ShiftLeft<kBy>(value);
  if constexpr (kBy < 0) return hn::ShiftRight<-kBy>(value);
  return value;
}

// Replaces every byte, an index below 16, by its value in kIQ4NLValues plus 128.
HWY_INLINE Words look_up(Words indices) {
#if HWY_TARGET == HWY_SCALAR
  std::uint32_t value = 0;
  for (int byte = 0; byte < 32; byte += 8) {
    const int entry = kIQ4NLValues[(hn::GetLane(indices) >> byte) & 15] + 128;
    value |= static_cast<std::uint32_t>(entry) << byte;
  }
  return hn::Set(kW, value);
#else
  HWY_ALIGN static constexpr std::uint8_t kTable[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                        129, 141, 153, 166, 181, 197, 217, 241};
  static_assert([] {
    for (int i = 0; i < 16; ++i) {
      if (kTable[i] != kIQ4NLValues[i] + 128) return false;
    }
    return true;
  }());
  const hn::Repartition<std::uint8_t, WordTag> bytes;
  return hn::BitCast(
      kW, hn::TableLookupBytes(hn::LoadDup128(bytes, kTable), hn::BitCast(bytes, indices)));
#endif
}

// Returns the codes of quad kQuad as bytes. `block`: the block's codes, from the first wanted
// output on.
template <PackedFormat F, int kQuad>
HWY_INLINE Words codes_of_quad(const std::byte* block) {
  if constexpr (F.code_bits == 8) {
    return load_words(block + kQuad * kLine);
  } else {
    const Words line = load_words(block + kQuad % 4 * kLine);
    Words codes = hn::And(shift < kQuad < 4 ? 0 : -4 > (line), hn::Set(kW, 0x0f0f0f0fu));
    if constexpr (F.code_bits == 5) {
      const Words high = load_words(block + 4 * kLine);
      codes = hn::Or(codes, hn::And(shift<4 - kQuad>(high), hn::Set(kW, 0x10101010u)));
    } else if constexpr (F.code_bits == 6) {
      const Words high = load_words(block + (4 + kQuad / 4) * kLine);
      codes = hn::Or(codes, hn::And(shift<4 - 2 * (kQuad % 4)>(high), hn::Set(kW, 0x30303030u)));
    }
    return F.codebook ? look_up(codes) : codes;
  }
}

HWY_INLINE Vec load_u8(const std::byte* from) {
  const hn::Rebind<std::uint8_t, FloatTag> narrow;
  const auto bytes = hn::LoadU(narrow, reinterpret_cast<const std::uint8_t*>(from));
  return hn::ConvertTo(kF, hn::PromoteTo(kI, bytes));
}

// The scales of a block (one, or one per half) and the minimum to be added.
template <PackedFormat F>
struct BlockScales {
  Vec scale[F.halves ? 2 : 1];
  Vec min;

  HWY_INLINE BlockScales() {}  // an implicit constructor would not be compiled for the target

  HWY_INLINE void read(const std::byte* scales, std::size_t block, std::size_t output) {
    const std::byte* head = scales + block * F.head_bytes();
    if constexpr (F.super_blocks) {
      constexpr std::size_t kSuper = F.head_bytes() + kSuperBlocks * F.sub_bytes();
      head = scales + block / kSuperBlocks * kSuper;
    }
    const auto* halfs = reinterpret_cast<const std::uint16_t*>(head);
    scale[0] = load_f16(halfs + output);
    if constexpr (F.has_min) min = load_f16(halfs + kPanelOutputs + output);
    if constexpr (F.super_blocks) {
      const std::byte* sub = head + F.head_bytes() + block % kSuperBlocks * F.sub_bytes() + output;
      if constexpr (F.halves) {
        const auto* bytes = reinterpret_cast<const std::int8_t*>(sub);
        scale[1] = hn::Mul(scale[0], load_i8(bytes + kPanelOutputs));
        scale[0] = hn::Mul(scale[0], load_i8(bytes));
      } else {
        scale[0] = hn::Mul(scale[0], load_u8(sub));
      }
      if constexpr (F.has_min) min = hn::Neg(hn::Mul(min, load_u8(sub + kPanelOutputs)));
    }
  }
};

// The operands of a tile: kC panels and kR rows, both from the first block on. The first block
// begins a chunk.
template <int kC>
struct Tile {
  const std::byte* codes[kC];
  const std::byte* scales[kC];
  std::size_t first_block = 0, blocks = 0;  // the scales count from block 0
  const RowChunk* rows = nullptr;           // the first of kR
  std::size_t row_stride = 0;               // to the next chunk of a row
  const std::byte* ahead[kC];               // the codes that are used next; they are prefetched now
  std::size_t ahead_lines = 0;              // prefetched lines of 64 bytes, per panel and block
};

template <PackedFormat F, int kR, int kC>
struct TileSums {
  static constexpr int kV = kC * kPanelVectors;
  static constexpr int kBits = F.codebook ? 8 : F.code_bits;
  Vec sums[kR][kV];
  Ints dots[kR][kV];

  HWY_INLINE TileSums() {}

  // The initial value of the int32 sums, which subtracts the offset of the codes.
  template <int kHalf>
  HWY_INLINE void start(const RowChunk* rows, std::size_t block) {
    for (int r = 0; r < kR; ++r) {
      Ints from = hn::Zero(kI);
      if constexpr (F.offset != 0 && !(kBits == 8 && kEightBitSigned)) {
        const RowChunk& row = rows[r];
        from = hn::Set(kI, F.halves ? row.minus_first[block] : row.minus_sum[block]);
        if constexpr (kHalf == 1) from = hn::Sub(hn::Set(kI, row.minus_sum[block]), from);
        constexpr int kShift = 7 - std::countr_zero(static_cast<unsigned>(F.offset));
        if constexpr (kShift > 0) from = hn::ShiftRight<kShift>(from);
      }
      for (int v = 0; v < kV; ++v) dots[r][v] = from;
    }
  }

  template <int kQuad>
  HWY_INLINE void add_quad(const std::byte* const (&codes)[kC], const RowChunk* rows,
                           std::size_t block) {
    Words words[kV];
    for (int v = 0; v < kV; ++v) {
      words[v] = codes_of_quad<F, kQuad>(codes[v / kPanelVectors] + v % kPanelVectors * kLanes * 4);
    }
    for (int r = 0; r < kR; ++r) {
      std::int32_t four;
      std::memcpy(&four, rows[r].q + block * kBlockInputs + kQuad * 4, sizeof four);
      const Ints x = hn::Set(kI, four);
      for (int v = 0; v < kV; ++v) dots[r][v] = dot<kBits>(dots[r][v], words[v], x);
    }
  }

  template <int kFirst>
  HWY_INLINE void add_quads(const std::byte* const (&codes)[kC], const RowChunk* rows,
                            std::size_t block) {
    add_quad<kFirst>(codes, rows, block);
    add_quad<kFirst + 1>(codes, rows, block);
    add_quad<kFirst + 2>(codes, rows, block);
    add_quad<kFirst + 3>(codes, rows, block);
  }

  template <int kHalf>
  HWY_INLINE void finish(const RowChunk* rows, std::size_t block,
                         const BlockScales<F> (&scales)[kV]) {
    for (int r = 0; r < kR; ++r) {
      const Vec x_scale = broadcast(rows[r].scale[block]);
      for (int v = 0; v < kV; ++v) {
        sums[r][v] = hn::MulAdd(hn::ConvertTo(kF, dots[r][v]),
                                hn::Mul(scales[v].scale[kHalf], x_scale), sums[r][v]);
      }
    }
  }

  HWY_INLINE void add_min(const RowChunk* rows, std::size_t block,
                          const BlockScales<F> (&scales)[kV]) {
    for (int r = 0; r < kR; ++r) {
      const Vec x_sum = broadcast(rows[r].scaled_sum[block]);
      for (int v = 0; v < kV; ++v) sums[r][v] = hn::MulAdd(scales[v].min, x_sum, sums[r][v]);
    }
  }
};

// A block of the tile; `index` counts from block 0 of the panels, `block` within the rows' chunk.
template <PackedFormat F, int kR, int kC>
HWY_INLINE void add_block(const Tile<kC>& tile, const std::byte* const (&codes)[kC],
                          const RowChunk* rows, std::size_t index, std::size_t block,
                          TileSums<F, kR, kC>& at) {
  BlockScales<F> scales[TileSums<F, kR, kC>::kV];
  for (int v = 0; v < TileSums<F, kR, kC>::kV; ++v) {
    scales[v].read(tile.scales[v / kPanelVectors], index, v % kPanelVectors * kLanes);
  }
  at.template start<0>(rows, block);
  at.template add_quads<0>(codes, rows, block);
  if constexpr (F.halves) {
    at.template finish<0>(rows, block, scales);
    at.template start<1>(rows, block);
  }
  at.template add_quads<4>(codes, rows, block);
  at.template finish<F.halves ? 1 : 0>(rows, block, scales);
  if constexpr (F.has_min) at.add_min(rows, block, scales);
}

// sums [kR][stride], one panel's outputs after another's: read, added to, written.
template <PackedFormat F, int kR, int kC>
void multiply_tile(const Tile<kC>& tile, float* sums, std::size_t stride) {
  using Sums = TileSums<F, kR, kC>;
  Sums at;
  for (int r = 0; r < kR; ++r) {
    for (int v = 0; v < Sums::kV; ++v) at.sums[r][v] = load(sums + r * stride + v * kLanes);
  }
  const std::byte* codes[kC];
  const std::byte* ahead[kC];
  for (int c = 0; c < kC; ++c) {
    codes[c] = tile.codes[c];
    ahead[c] = tile.ahead[c];
  }
  const RowChunk* rows = tile.rows;
  for (std::size_t first = 0; first < tile.blocks; first += kChunkBlocks) {
    const std::size_t blocks = std::min(kChunkBlocks, tile.blocks - first);
    for (std::size_t block = 0; block < blocks; ++block) {
      for (std::size_t line = 0; line < tile.ahead_lines; ++line) {
        for (int c = 0; c < kC; ++c) {
          __builtin_prefetch(ahead[c], 0, 3);
          ahead[c] += kLine;
        }
      }
      add_block<F, kR, kC>(tile, codes, rows, tile.first_block + first + block, block, at);
      for (int c = 0; c < kC; ++c) codes[c] += F.codes_bytes();
    }
    rows += tile.row_stride;
  }
  for (int r = 0; r < kR; ++r) {
    for (int v = 0; v < Sums::kV; ++v) store(at.sums[r][v], sums + r * stride + v * kLanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
