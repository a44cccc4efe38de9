// SPDX-License-Identifier: Apache-2.0
//
// Appends rows of k and v to the pages of one layer, rounded to the pool's type.
//
// Each place names a row of k and v and where it goes. A place with page kNoPage is skipped, so a
// launch captured for many rows serves fewer. No two places of a launch are equal. Values are
// rounded as on the host, bit for bit. f16, bf16: to nearest even. i8: with the scale max|x| / 127
// of the row. e4m3: with the smallest power of two from 2^-126 to 2^119 as scale for which max|x| /
// scale is at most 448; larger values become 448 * 2^119. i8 and e4m3 rows with NaN or infinity
// become zeros with the scale NaN. Padding is written as zeros. Graph-safe: one launch, no
// workspace. Cost: every value read once and written once, a warp per row and head. Errors:
// cudaErrorInvalidValue for an invalid pool or layer.
#pragma once

#include <cuda_runtime_api.h>

#include "kv_cache/kv_pool.h"

namespace tandem::gpu_kernels {

inline constexpr std::uint32_t kNoPage = 0xffffffffu;

struct KvPlace {
  std::uint32_t page = kNoPage;
  std::int32_t token = 0;  // within the page
  std::int32_t row = 0;    // of k and v
};

struct AppendKv {
  KvPool pool;
  int layer = 0;
  std::int64_t num_places = 0;
  const KvPlace* places = nullptr;  // [num_places] in device memory
  const float* k = nullptr;         // [rows, kv_heads, head_dim]
  const float* v = nullptr;
  std::int64_t k_stride = 0;  // floats from row to row; 0: kv_heads * head_dim
  std::int64_t v_stride = 0;
};

cudaError_t append_kv(const AppendKv& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
