// SPDX-License-Identifier: Apache-2.0
//
// The arguments of the prefill kernels, for both sources of K and V.
//
// One grid of (num_tiles, kv_heads) blocks of 128 threads (Hopper: 384). Pointers are to device
// memory. The generic kernels of each stored type are a source of their own, written by
// instances.cmake.
#pragma once

#include <cuda_runtime_api.h>

#include "attention/prefill_plan.h"

namespace tandem::gpu_kernels {

struct PrefillJob {
  const PrefillTile* tiles = nullptr;  // [num_tiles]
  const float* q = nullptr;
  float* o = nullptr;
  float* lse = nullptr;
  float scale = 1.0f, softcap = 0.0f;
  int q_heads = 0, kv_heads = 0, group = 0, head_dim = 0;  // group: q_heads / kv_heads
  int window = 0;
  bool causal = false;
  int tile_keys = 0;          // as in PrefillBucket
  bool stores_pairs = false;  // whether pairs of o may be written at once
  // Rows of a layer's pages as KvPool has them; V's are v_rows after K's. Without a page list the
  // pages are in order, and a tile's origin counts tokens.
  const void* values = nullptr;
  const float* scales = nullptr;
  const std::uint32_t* pages = nullptr;
  int page_shift = 0;
  std::uint32_t v_rows = 0;
  std::uint32_t num_rows = 0;              // of the layer's pages
  const float *k = nullptr, *v = nullptr;  // f32 rows [rows, kv_heads, head_dim] instead
};

// One launcher per stored type. They return cudaErrorInvalidValue if head_dim is outside 1..256.
cudaError_t prefill_f16(const PrefillJob& job, int num_tiles, bool exact, cudaStream_t stream);
cudaError_t prefill_bf16(const PrefillJob& job, int num_tiles, bool exact, cudaStream_t stream);
cudaError_t prefill_i8(const PrefillJob& job, int num_tiles, cudaStream_t stream);
cudaError_t prefill_e4m3(const PrefillJob& job, int num_tiles, cudaStream_t stream);
cudaError_t prefill_f32(const PrefillJob& job, int num_tiles, cudaStream_t stream);

// The Hopper path, for buckets that take it.
cudaError_t prefill_hopper(const PrefillJob& job, const PrefillBucket& bucket, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
