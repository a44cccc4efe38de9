// SPDX-License-Identifier: Apache-2.0
//
// multiply_quantized() for AVX-512 with and without VNNI, AVX2, NEON and scalar, chosen at run
// time.
//
// Loop order: group of panels; chunk of inputs; tile of rows. The chunk of a group (16 KiB for two
// panels of 8 bits) stays in the first cache while all rows pass; their f32 sums wait in the
// workspace between chunks, which changes no bit. Up to a tile of rows the inputs are one chunk.
#include "cpu/kernels/quantized_products.h"

#include <algorithm>

#define HWY_WANT_AVX3_DL  // before every header of Highway
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/quantized_products.cpp"
#include "hwy/foreach_target.h"
//
#include "cpu/kernels/quantized_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {
namespace {

// What the registers hold: kLanes * panels * rows sums in int32 and in f32.
constexpr int kTilePanels = kLanes == 16 ? static_cast<int>(kPanelGroup) : 1;
constexpr int kTileRows = kLanes == 16 ? 4 : kLanes == 1 ? 1 : 2;
constexpr std::size_t kChunkBlocks = 16;

struct Group {
  std::size_t first_panel = 0;
  std::size_t first_block = 0, blocks = 0;
};

template <PackedFormat F, int kR, int kC>
void multiply_rows(const QuantizedProduct& p, const Group& group, std::size_t row, float* sums) {
  const std::size_t panel_bytes = F.panel_bytes(p.blocks);
  Tile<kR, kC> tile;
  tile.first_block = group.first_block;
  tile.blocks = group.blocks;
  for (int c = 0; c < kC; ++c) {
    const std::byte* panel = p.panels + (group.first_panel + c) * panel_bytes;
    tile.codes[c] = panel + group.first_block * F.codes_bytes();
    tile.scales[c] = panel + p.blocks * F.codes_bytes();
  }
  for (int r = 0; r < kR; ++r) {
    const std::size_t at = (row + r) * p.blocks + group.first_block;
    tile.q[r] = p.q + at * kBlockInputs;
    tile.notes[r] = p.notes + at;
  }
  constexpr std::size_t kStride = kTilePanels * kPanelOutputs;
  multiply_tile<F, kR, kC>(tile, sums + row * kStride, kStride);
}

template <PackedFormat F, int kC>
void multiply_chunk(const QuantizedProduct& p, const Group& group, float* sums) {
  std::size_t row = 0;
  for (; row + kTileRows <= p.rows; row += kTileRows) {
    multiply_rows<F, kTileRows, kC>(p, group, row, sums);
  }
  switch (p.rows - row) {
    case 3:
      if constexpr (kTileRows > 3) return multiply_rows<F, 3, kC>(p, group, row, sums);
      [[fallthrough]];
    case 2:
      if constexpr (kTileRows > 2) return multiply_rows<F, 2, kC>(p, group, row, sums);
      [[fallthrough]];
    case 1:
      if constexpr (kTileRows > 1) return multiply_rows<F, 1, kC>(p, group, row, sums);
      [[fallthrough]];
    default:
      return;
  }
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
  const std::size_t chunk = p.rows <= kTileRows ? p.blocks : kChunkBlocks;
  workspace.resize(std::max(workspace.size(), p.rows * kTilePanels * kPanelOutputs));
  for (std::size_t panel = 0; panel < p.num_panels; panel += kTilePanels) {
    std::fill_n(workspace.begin(), p.rows * kTilePanels * kPanelOutputs, 0.0f);
    for (std::size_t block = 0; block < p.blocks; block += chunk) {
      const Group group{panel, block, std::min(chunk, p.blocks - block)};
      if (panel + kTilePanels <= p.num_panels) {
        multiply_chunk<F, kTilePanels>(p, group, workspace.data());
      } else {
        multiply_chunk<F, 1>(p, group, workspace.data());
      }
    }
    const std::size_t begin = panel * kPanelOutputs;
    write_result(p, begin, std::min(p.outputs, begin + kTilePanels * kPanelOutputs),
                 workspace.data());
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
