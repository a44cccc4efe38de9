// SPDX-License-Identifier: Apache-2.0
//
// KvPool: the KV pages of a CPU attention unit.
//
// Layout: [layer][page][kv head][tile]. A tile has 16 token slots: K [stride, 16 tokens], V in
// strips [16 tokens, 64], and for kI8 and kF8E4M3 then the scales [16] of K and [16] of V; stride
// is head_dim rounded up to 16. The data of one head in one page is therefore contiguous (8 KiB per
// tile for head_dim 128 in f16). Pages of fewer than 16 tokens leave slots empty. Memory is touched
// when a page is first written. With several NUMA nodes, stripes of adjacent pages (some 16 MiB per
// layer) alternate between nodes: a long sequence uses all nodes, a short part of it only one.
// Borders are rounded to huge pages, which cannot be on two nodes. Threads: different (page, head)
// pairs may be written at the same time; reads and writes of one must not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cpu/host_memory.h"
#include "cpu/kernels/attention/attention_block.h"
#include "device/attention_unit.h"

namespace tandem::device::cpu {

class KvPool {
 public:
  // processors_of_nodes: [num_nodes]; an empty entry: threads are not bound. Without bound threads,
  // or without memory binding by the system, there are no stripes.
  KvPool(const AttentionGeometry& geometry, std::uint32_t num_pages,
         std::span<const std::vector<int>> processors_of_nodes = {});

  // bytes of a page in all layers
  static std::size_t page_bytes(const AttentionGeometry& geometry);
  std::uint32_t num_pages() const { return num_pages_; }
  // The node of the page's memory, in [0, num_nodes); 0 without stripes.
  int home_of(PageId page) const { return static_cast<int>(page / pages_per_stripe_ % num_nodes_); }
  // A part of the pool whose memory is bound to one node. Stripes cover the whole pool in order;
  // their borders are at huge pages.
  struct Stripe {
    std::span<std::byte> memory;
    int node = 0;
  };
  std::vector<Stripe> stripes() const;
  std::size_t stride() const { return stride_; }
  std::size_t tile_bytes() const { return tile_bytes_; }
  std::size_t tile_tokens() const {
    return tile_tokens_;
  }  // slots of a tile that are used: 16 or fewer
  std::size_t tiles_per_page() const { return tiles_per_page_; }

  // The whole tile, as if all its slots were filled.
  KvTile tile(int layer, PageId page, std::size_t head, std::size_t tile) const;

  // Moves to the tile of the next head.
  void to_next_head(KvTile& tile) const {
    tile.k = static_cast<const std::byte*>(tile.k) + head_bytes_;
    tile.v = static_cast<const std::byte*>(tile.v) + head_bytes_;
    if (tile.k_scale == nullptr) return;
    tile.k_scale += head_bytes_ / sizeof(float);
    tile.v_scale += head_bytes_ / sizeof(float);
  }

  // Stores one token's k and v [head_dim] of one head, rounded to the page's type.
  struct Slot {
    int layer = 0;
    PageId page = 0;
    std::size_t head = 0;
    std::size_t token = 0;  // within the page
  };
  void write(const Slot& slot, const float* k, const float* v);

  // Page images in the format that AttentionUnit states.
  void export_page(PageId page, std::span<std::byte> image) const;
  void import_page(PageId page, std::span<const std::byte> image);

 private:
  struct TileView;
  std::byte* tile_at(int layer, PageId page, std::size_t head, std::size_t tile) const;
  TileView view(std::byte* tile) const;
  void choose_stripes(std::size_t num_nodes);
  template <bool kToImage, typename Bytes>
  void move_page(PageId page, Bytes* image) const;

  AttentionGeometry geometry_;
  std::uint32_t num_pages_;
  std::size_t stride_, value_bytes_, tile_tokens_, tiles_per_page_, tile_bytes_, head_bytes_;
  Mapping memory_;
  std::uint32_t num_nodes_ = 1, pages_per_stripe_ = 1;
};

}  // namespace tandem::device::cpu
