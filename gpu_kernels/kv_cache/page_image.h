// SPDX-License-Identifier: Apache-2.0
//
// Copies whole pages between the pool and page images, the exchange format of all attention units.
//
// An image is [num_layers, 2 (k, v), kv_heads, page_tokens, head_dim] of the pool's type, then, if
// the type has scales, [num_layers, 2, kv_heads, page_tokens] f32. Images of several pages follow
// each other at multiples of 16 bytes, in memory that the device can address (device, pinned host,
// a peer). Graph-safe: one launch, no workspace. Cost: every byte read and written once, 16 at a
// time if a row of head_dim values is a multiple of that. Errors: cudaErrorInvalidValue for an
// invalid pool, or more than 65,535 pages.
#pragma once

#include <cuda_runtime_api.h>

#include "kv_cache/kv_pool.h"

namespace tandem::gpu_kernels {

constexpr std::size_t page_image_bytes(const KvPool& pool) {
  const std::size_t rows = static_cast<std::size_t>(pool.num_layers) * kv_page_rows(pool);
  return rows * static_cast<std::size_t>(pool.head_dim * value_bytes_of(pool.type)) +
         (has_scales(pool.type) ? rows * sizeof(float) : 0);
}

struct MovePages {
  KvPool pool;
  std::int64_t num_pages = 0;
  const std::uint32_t* pages = nullptr;  // [num_pages] in device memory, each once
  void* images = nullptr;                // [num_pages, page_image_bytes()], aligned to 16
};

cudaError_t export_pages(const MovePages& job, cudaStream_t stream);
cudaError_t import_pages(const MovePages& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
