// SPDX-License-Identifier: Apache-2.0
//
// multiply_quantized() for AVX-512 with and without VNNI, AVX2, NEON and scalar, chosen at run
// time.
//
// Loop order: group of panels; chunk of inputs; tile of rows. The chunk of a group (16 KiB for two
// panels of 8 bits) stays in the first-level cache for all rows, and the tiles share the prefetch
// of the next one. Between chunks the f32 sums are stored in the workspace, which changes no bit.
// One row reads 8-bit panels in order, which the hardware prefetcher follows best. With denser
// codes it is slower, because more computation interrupts the reads.
#include "cpu/kernels/quantized_products/quantized_products.h"

#include <algorithm>

#define HWY_WANT_AVX3_DL  // before every header of Highway
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/quantized_products/quantized_products.cpp"
#include "hwy/foreach_target.h"
//
#include "cpu/kernels/quantized_products/quantized_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {
namespace {

// What the registers hold: kLanes * panels * rows sums in int32 and in f32.
constexpr int kTilePanels = kLanes == 16 ? static_cast<int>(kPanelGroup) : 1;
constexpr int kTileRows = kLanes == 16 ? 6 : kLanes == 1 ? 1 : 2;

struct Chunk {
  std::size_t first_panel = 0;
  std::size_t first_block = 0, blocks = 0;
};

struct TileRows {
  std::size_t tile = 0, tiles = 0;  // which of how many
  std::size_t first = 0, count = 0;
};

template <PackedFormat F>
const std::byte* codes_at(const QuantizedProduct& p, std::size_t panel, std::size_t block) {
  return p.panels + panel * F.panel_bytes(p.blocks) + block * F.codes_bytes();
}

// Each tile of a chunk fetches its share of the next.
template <PackedFormat F, int kR, int kC>
void multiply_rows(const QuantizedProduct& p, const Chunk& chunk, const Chunk& next,
                   const TileRows& rows, float* sums) {
  Tile<kC> tile;
  tile.first_block = chunk.first_block;
  tile.blocks = chunk.blocks;
  const bool left_to_processor = chunk.blocks > kChunkBlocks;
  const std::size_t lines = left_to_processor ? 0 : next.blocks * F.codes_bytes() / kLine;
  const std::size_t steps = rows.tiles * chunk.blocks;
  tile.ahead_lines = (lines + steps - 1) / steps;
  const std::size_t fetched = rows.tile * chunk.blocks * tile.ahead_lines;
  if (fetched >= lines) tile.ahead_lines = 0;
  for (int c = 0; c < kC; ++c) {
    tile.codes[c] = codes_at<F>(p, chunk.first_panel + c, chunk.first_block);
    tile.scales[c] = codes_at<F>(p, chunk.first_panel + c, p.blocks);
    tile.ahead[c] = codes_at<F>(p, next.first_panel + c, next.first_block) + fetched * kLine;
  }
  tile.rows = p.x + chunk.first_block / kChunkBlocks * p.x_stride + rows.first;
  tile.row_stride = p.x_stride;
  constexpr std::size_t kStride = kTilePanels * kPanelOutputs;
  multiply_tile<F, kR, kC>(tile, sums + rows.first * kStride, kStride);
}

// A tile of `count` rows, 1..kR.
template <PackedFormat F, int kC, int kR>
void multiply_some(const QuantizedProduct& p, const Chunk& chunk, const Chunk& next,
                   const TileRows& rows, float* sums) {
  if constexpr (kR > 0) {
    if (rows.count == kR) return multiply_rows<F, kR, kC>(p, chunk, next, rows, sums);
    multiply_some<F, kC, kR - 1>(p, chunk, next, rows, sums);
  }
}

// Tiles of as equal heights as can be: low ones waste what they read.
template <PackedFormat F, int kC>
void multiply_chunk(const QuantizedProduct& p, const Chunk& chunk, const Chunk& next, float* sums) {
  TileRows rows;
  rows.tiles = (p.rows + kTileRows - 1) / kTileRows;
  for (; rows.tile < rows.tiles; ++rows.tile) {
    rows.count = (p.rows - rows.first + rows.tiles - rows.tile - 1) / (rows.tiles - rows.tile);
    multiply_some<F, kC, kTileRows>(p, chunk, next, rows, sums);
    rows.first += rows.count;
  }
}

template <PackedFormat F>
std::size_t chunk_blocks(const QuantizedProduct& p) {
  return p.rows == 1 && F.code_bits == 8 ? p.blocks : kChunkBlocks;
}

// The next chunk, or null.
template <PackedFormat F>
Chunk chunk_after(const QuantizedProduct& p, Chunk chunk) {
  chunk.first_block += chunk.blocks;
  if (chunk.first_block == p.blocks) {
    chunk.first_block = 0;
    chunk.first_panel += kTilePanels;
  }
  const bool none = chunk.first_panel >= p.num_panels;
  chunk.blocks = none ? 0 : std::min(chunk_blocks<F>(p), p.blocks - chunk.first_block);
  return chunk;
}

// sums: [rows, outputs of a group], of outputs [begin, end).
void write_result(const QuantizedProduct& p, std::size_t begin, std::size_t end,
                  const float* sums) {
  for (std::size_t row = 0; row < p.rows; ++row, sums += kTilePanels * kPanelOutputs) {
    float* y = p.y + row * p.y_stride;
    for (std::size_t o = begin; o < end; ++o) {
      float value = sums[o - begin];
      if (p.bias != nullptr) value += p.bias[o];
      y[o] = p.accumulate ? y[o] + value : value;
    }
  }
}

template <PackedFormat F>
void multiply_format(const QuantizedProduct& p, std::vector<float>& workspace) {
  const std::size_t size = p.rows * kTilePanels * kPanelOutputs;
  workspace.resize(std::max(workspace.size(), size));
  float* sums = workspace.data();
  for (std::size_t panel = 0; panel < p.num_panels; panel += kTilePanels) {
    std::fill_n(sums, size, 0.0f);
    Chunk chunk{panel, 0, std::min(chunk_blocks<F>(p), p.blocks)};
    while (chunk.first_panel == panel && chunk.blocks > 0) {
      const Chunk next = chunk_after<F>(p, chunk);
      if (panel + kTilePanels <= p.num_panels) {
        multiply_chunk<F, kTilePanels>(p, chunk, next, sums);
      } else {
        multiply_chunk<F, 1>(p, chunk, next, sums);
      }
      chunk = next;
    }
    const std::size_t begin = panel * kPanelOutputs;
    write_result(p, begin, std::min(p.outputs, begin + kTilePanels * kPanelOutputs), sums);
  }
}

}  // namespace

void multiply_packed(const QuantizedProduct& p, std::vector<float>& workspace) {
  switch (p.dtype) {
    case DType::kQ4_0:
      return multiply_format<packed_format(DType::kQ4_0)>(p, workspace);
    case DType::kQ4_1:
      return multiply_format<packed_format(DType::kQ4_1)>(p, workspace);
    case DType::kQ5_0:
      return multiply_format<packed_format(DType::kQ5_0)>(p, workspace);
    case DType::kQ5_1:
      return multiply_format<packed_format(DType::kQ5_1)>(p, workspace);
    case DType::kIQ4_NL:
      return multiply_format<packed_format(DType::kIQ4_NL)>(p, workspace);
    case DType::kQ4_K:
      return multiply_format<packed_format(DType::kQ4_K)>(p, workspace);
    case DType::kQ5_K:
      return multiply_format<packed_format(DType::kQ5_K)>(p, workspace);
    case DType::kQ6_K:
      return multiply_format<packed_format(DType::kQ6_K)>(p, workspace);
    default:
      return multiply_format<packed_format(DType::kQ8_0)>(p, workspace);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::device::cpu {
HWY_EXPORT(multiply_packed);

void multiply_quantized(const QuantizedProduct& product, std::vector<float>& workspace) {
  HWY_DYNAMIC_DISPATCH(multiply_packed)(product, workspace);
}

}  // namespace tandem::device::cpu
#endif  // HWY_ONCE
