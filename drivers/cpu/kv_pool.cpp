// SPDX-License-Identifier: Apache-2.0
//
// KvPool: addresses of tiles, writing tokens, and moving whole pages in and out of their layout.
#include "cpu/kv_pool.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "common/memory_binding.h"
#include "cpu/kernels/attention/kv_rows.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kSlots = kTileTokens;

// Many huge pages, because borders are rounded to them; fewer for small layers. The number of
// stripes is limited, because the system keeps a record of each.
constexpr std::size_t kStripeBytes = std::size_t{16} << 20;
constexpr std::size_t kStripesOfNode = 4;  // in a layer, at least
constexpr std::size_t kMostStripes = 8192;

std::size_t padded_stride(const AttentionGeometry& g) {
  return (static_cast<std::size_t>(g.head_dim) + 15) / 16 * 16;
}

std::size_t bytes_of_tile(const AttentionGeometry& g) {
  const std::size_t values = 2 * kSlots * padded_stride(g) * dtype_block_bytes(g.kv_dtype);
  return values + (kv_has_scales(g.kv_dtype) ? 2 * kSlots * sizeof(float) : 0);
}

std::size_t tiles_of_page(const AttentionGeometry& g) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(g.page_tokens) / kSlots);
}

template <typename T>
void put_key(const void* row, std::size_t dim, std::size_t lane, std::byte* tile) {
  const T* from = static_cast<const T*>(row);
  T* to = reinterpret_cast<T*>(tile) + lane;
  for (std::size_t d = 0; d < dim; ++d) to[d * kSlots] = from[d];
}

template <typename T>
void put_value(const void* row, std::size_t dim, std::size_t stride, std::size_t lane,
               std::byte* tile) {
  const T* from = static_cast<const T*>(row);
  for (std::size_t d = 0; d < dim; d += kStripDims) {
    std::memcpy(tile + v_index(stride, lane, d) * sizeof(T), from + d,
                std::min(kStripDims, dim - d) * sizeof(T));
  }
}

}  // namespace

struct KvPool::TileView {
  std::byte* k;    // [stride, 16]
  std::byte* v;    // [16, 64] per strip
  float* k_scale;  // [16]; null if the type has none
  float* v_scale;
};

std::size_t KvPool::page_bytes(const AttentionGeometry& g) {
  return static_cast<std::size_t>(g.num_layers) * g.kv_heads * tiles_of_page(g) * bytes_of_tile(g);
}

KvPool::KvPool(const AttentionGeometry& geometry, std::uint32_t num_pages,
               std::span<const std::vector<int>> processors_of_nodes)
    : geometry_(geometry),
      num_pages_(num_pages),
      stride_(padded_stride(geometry)),
      value_bytes_(dtype_block_bytes(geometry.kv_dtype)),
      tile_tokens_(std::min<std::size_t>(kSlots, geometry.page_tokens)),
      tiles_per_page_(tiles_of_page(geometry)),
      tile_bytes_(bytes_of_tile(geometry)),
      head_bytes_(tiles_per_page_ * tile_bytes_),
      memory_(page_bytes(geometry) * num_pages) {
  const bool bound = std::ranges::none_of(processors_of_nodes, &std::vector<int>::empty);
  if (processors_of_nodes.size() < 2 || !bound) return;
  choose_stripes(processors_of_nodes.size());
  for (const Stripe& stripe : stripes()) {
    if (bind_memory(stripe.memory, processors_of_nodes[static_cast<std::size_t>(stripe.node)])) {
      continue;
    }
    num_nodes_ = 1;  // the system refuses to bind memory, so first touch decides
    return;
  }
}

void KvPool::choose_stripes(std::size_t num_nodes) {
  const std::size_t page_bytes = head_bytes_ * static_cast<std::size_t>(geometry_.kv_heads);
  const std::size_t of_layer = page_bytes * num_pages_ / (num_nodes * kStripesOfNode);
  const std::size_t stripe = std::max(std::clamp(of_layer, kHugePageBytes, kStripeBytes),
                                      memory_.size_bytes() / kMostStripes);
  num_nodes_ = static_cast<std::uint32_t>(num_nodes);
  pages_per_stripe_ =
      static_cast<std::uint32_t>(std::max<std::size_t>(1, (stripe + page_bytes / 2) / page_bytes));
}

std::vector<KvPool::Stripe> KvPool::stripes() const {
  const auto base = reinterpret_cast<std::uintptr_t>(memory_.data());
  std::vector<Stripe> stripes;
  std::size_t begin = 0;  // of the stripe that is being formed
  int node = 0;
  const auto end_at = [&](std::size_t end) {
    end = std::min(end, memory_.size_bytes());
    if (end <= begin) return;
    stripes.push_back({{memory_.data() + begin, end - begin}, node});
    begin = end;
  };
  for (int layer = 0; layer < geometry_.num_layers; ++layer) {
    for (std::size_t page = 0; page < num_pages_; page += pages_per_stripe_) {
      const auto first = static_cast<PageId>(page);
      const auto at = reinterpret_cast<std::uintptr_t>(tile_at(layer, first, 0, 0));
      const std::uintptr_t border = (at + kHugePageBytes / 2) / kHugePageBytes * kHugePageBytes;
      if (home_of(first) != node && border > base) end_at(border - base);
      node = home_of(first);
    }
  }
  end_at(memory_.size_bytes());
  return stripes;
}

std::byte* KvPool::tile_at(int layer, PageId page, std::size_t head, std::size_t tile) const {
  const std::size_t page_index = static_cast<std::size_t>(layer) * num_pages_ + page;
  const std::size_t row = page_index * geometry_.kv_heads + head;
  return memory_.data() + (row * tiles_per_page_ + tile) * tile_bytes_;
}

KvPool::TileView KvPool::view(std::byte* tile) const {
  TileView at{tile, tile + kSlots * stride_ * value_bytes_, nullptr, nullptr};
  if (kv_has_scales(geometry_.kv_dtype)) {
    at.k_scale = reinterpret_cast<float*>(tile + 2 * kSlots * stride_ * value_bytes_);
    at.v_scale = at.k_scale + kSlots;
  }
  return at;
}

KvTile KvPool::tile(int layer, PageId page, std::size_t head, std::size_t tile) const {
  const TileView at = view(tile_at(layer, page, head, tile));
  return {at.k, at.v, at.k_scale, at.v_scale, 0, static_cast<int>(tile_tokens_)};
}

void KvPool::write(const Slot& slot, const float* k, const float* v) {
  const TileView at = view(tile_at(slot.layer, slot.page, slot.head, slot.token / tile_tokens_));
  const std::size_t lane = slot.token % tile_tokens_;
  const auto dim = static_cast<std::size_t>(geometry_.head_dim);
  std::array<std::uint16_t, 256> row;  // of one or two bytes a value
  const float k_scale = narrow_kv(geometry_.kv_dtype, k, dim, row.data());
  if (value_bytes_ == 1) {
    put_key<std::uint8_t>(row.data(), dim, lane, at.k);
  } else {
    put_key<std::uint16_t>(row.data(), dim, lane, at.k);
  }
  const float v_scale = narrow_kv(geometry_.kv_dtype, v, dim, row.data());
  if (value_bytes_ == 1) {
    put_value<std::uint8_t>(row.data(), dim, stride_, lane, at.v);
  } else {
    put_value<std::uint16_t>(row.data(), dim, stride_, lane, at.v);
  }
  if (at.k_scale == nullptr) return;
  at.k_scale[lane] = k_scale;
  at.v_scale[lane] = v_scale;
}

// Visits every token slot of the page with its place in the image.
template <bool kToImage, typename Bytes>
void KvPool::move_page(PageId page, Bytes* image) const {
  const AttentionGeometry& g = geometry_;
  const auto move = [](std::byte* in_pool, Bytes* in_image, std::size_t count) {
    if constexpr (kToImage) {
      std::memcpy(in_image, in_pool, count);
    } else {
      std::memcpy(in_pool, in_image, count);
    }
  };
  const auto dim = static_cast<std::size_t>(g.head_dim);
  const std::size_t row_bytes = dim * value_bytes_;
  const std::size_t rows = static_cast<std::size_t>(g.num_layers) * 2 * g.kv_heads * g.page_tokens;
  Bytes* scales = image + rows * row_bytes;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t token = row % g.page_tokens;
    const std::size_t head = row / g.page_tokens % g.kv_heads;
    const bool is_v = row / g.page_tokens / g.kv_heads % 2 == 1;
    const auto layer = static_cast<int>(row / g.page_tokens / g.kv_heads / 2);
    const TileView at = view(tile_at(layer, page, head, token / tile_tokens_));
    const std::size_t lane = token % tile_tokens_;
    Bytes* values = image + row * row_bytes;
    for (std::size_t d = 0; d < dim; ++d) {
      std::byte* in_pool = is_v ? at.v + v_index(stride_, lane, d) * value_bytes_
                                : at.k + (d * kSlots + lane) * value_bytes_;
      move(in_pool, values + d * value_bytes_, value_bytes_);
    }
    if (at.k_scale != nullptr) {
      float* scale = (is_v ? at.v_scale : at.k_scale) + lane;
      move(reinterpret_cast<std::byte*>(scale), scales + row * sizeof(float), sizeof(float));
    }
  }
}

void KvPool::export_page(PageId page, std::span<std::byte> image) const {
  move_page<true>(page, image.data());
}

void KvPool::import_page(PageId page, std::span<const std::byte> image) {
  move_page<false>(page, image.data());
}

}  // namespace tandem::device::cpu
