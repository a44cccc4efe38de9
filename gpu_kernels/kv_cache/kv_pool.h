// SPDX-License-Identifier: Apache-2.0
//
// KvPool: the layout of the KV pages of all layers in device memory.
//
// values: [num_layers, num_pages, 2 (k, v), kv_heads, page_tokens, row_values]; scales, if the type
// has them: [num_layers, num_pages, 2, kv_heads, page_tokens] f32. The data of one head in one page
// is contiguous (4 KiB for 16 tokens of 128 f16 values) and begins at a multiple of 16 bytes, so
// threads read whole lines of 16 bytes. The pages of a layer are together, because a decode step
// reads one layer at a time. Pages of 2 MiB over all layers would need a TLB entry per 64 KiB read.
// Rows are padded with zeros to 64, 80, 96, 128 or 256 values, the widths of the kernels. A page of
// a layer has the order of the exchange format (device/attention_unit.h); page_image.h moves whole
// pages. Host and device; plain data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/floats.h"

namespace tandem::gpu_kernels {

enum class KvType : std::uint8_t { kF16, kBF16, kE4M3, kI8 };

__host__ __device__ constexpr bool has_scales(KvType type) {
  return type == KvType::kE4M3 || type == KvType::kI8;
}
__host__ __device__ constexpr int value_bytes_of(KvType type) { return has_scales(type) ? 1 : 2; }

// The width of a row in the pool; 0 where head_dim is not in 1..256.
constexpr int kv_row_values(int head_dim) {
  if (head_dim < 1) return 0;
  for (const int width : {64, 80, 96, 128, 256}) {
    if (head_dim <= width) return width;
  }
  return 0;
}

struct KvPool {
  KvType type = KvType::kF16;
  int num_layers = 0;
  int kv_heads = 0;
  int head_dim = 0;     // 1..256
  int page_tokens = 0;  // a power of two in 16..256
  std::uint32_t num_pages = 0;
  void* values = nullptr;   // kv_values_bytes(), aligned to 16
  float* scales = nullptr;  // kv_scales_bytes(), aligned to 16
};

constexpr bool is_valid(const KvPool& pool) {
  return pool.num_layers > 0 && pool.kv_heads > 0 && kv_row_values(pool.head_dim) > 0 &&
         pool.page_tokens >= 16 && pool.page_tokens <= 256 &&
         (pool.page_tokens & (pool.page_tokens - 1)) == 0;
}

// Rows (of one token and head, k or v) of a page of one layer.
__host__ __device__ constexpr std::size_t kv_page_rows(const KvPool& pool) {
  return std::size_t{2} * static_cast<unsigned>(pool.kv_heads) *
         static_cast<unsigned>(pool.page_tokens);
}
constexpr std::size_t kv_values_bytes(const KvPool& pool) {
  return static_cast<std::size_t>(pool.num_layers) * pool.num_pages * kv_page_rows(pool) *
         static_cast<std::size_t>(kv_row_values(pool.head_dim) * value_bytes_of(pool.type));
}
constexpr std::size_t kv_scales_bytes(const KvPool& pool) {
  if (!has_scales(pool.type)) return 0;
  return static_cast<std::size_t>(pool.num_layers) * pool.num_pages * kv_page_rows(pool) * 4;
}

// Index of the row of a token of a head: of the pool's rows, and of its scales.
__host__ __device__ constexpr std::size_t kv_row(const KvPool& pool, int layer, std::uint32_t page,
                                                 bool is_v, int kv_head, int token_in_page) {
  const std::size_t page_at = static_cast<std::size_t>(layer) * pool.num_pages + page;
  const std::size_t head_at =
      (page_at * 2 + (is_v ? 1 : 0)) * static_cast<unsigned>(pool.kv_heads) +
      static_cast<unsigned>(kv_head);
  return head_at * static_cast<unsigned>(pool.page_tokens) + static_cast<unsigned>(token_in_page);
}

}  // namespace tandem::gpu_kernels
