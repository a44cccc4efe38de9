// SPDX-License-Identifier: Apache-2.0
//
// rope() that also appends the finished k and v to the KV pages of one layer, in the same launch.
//
// Row i of both goes to places[i] of the pool. A row whose page is kNoPage is only rotated. So a
// launch captured for many rows serves fewer, and rows whose KV is on another unit. The member
// `row` of a place is not read. x of k and v hold the f32 values as after rope(); the pool gets the
// bits that append_kv() would store (kv_cache/kv_rounding.cuh). Graph-safe: one launch, no
// workspace. Cost: that of rope() and the pool's bytes; k and v are read from the cache, not from
// memory. Errors: those of rope(); cudaErrorInvalidValue for an invalid pool or layer and for
// targets whose heads differ from the pool's.
#pragma once

#include "kv_cache/append.h"
#include "rope/rope.h"

namespace tandem::gpu_kernels {

struct RopeAppend {
  Rope rope;
  int k_target = 0, v_target = 0;  // which of its targets; v's `rotates` is false
  KvPool pool;
  int layer = 0;
  const KvPlace* places = nullptr;  // [rows]; places of one launch differ
};

cudaError_t rope_append(const RopeAppend& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
