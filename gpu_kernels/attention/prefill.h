// SPDX-License-Identifier: Apache-2.0
//
// Attention of many query rows: softmax(scale q k^T) v and its LSE. GQA and MQA of any group size,
// soft cap.
//
// A block of 4 warps holds 64 query heads (128 if not exact). It copies K and V ahead of use, in
// tiles of 64 or 32 tokens. Scores, softmax and O stay in registers. A warp skips tiles that none
// of its rows see. FLOPs: 4 head_dim per query head and visible key, twice that when exact. Bytes:
// K and V once per 64 query heads, from the L2 cache except the first time. cuDNN is not used: it
// lacks the combination of pages of every size with scales, windows, soft caps and an f32 LSE.
// Which of the two is faster has not been measured. Source: Dao, FlashAttention-2, 2023 (the order
// of work).
#pragma once

#include <cuda_runtime_api.h>

#include "attention/prefill_plan.h"

namespace tandem::gpu_kernels {

// Numerics: stored values are exact 16-bit operands (f16; bf16 for all other types). Scales
// multiply scores and probabilities. Scores, softmax and O are f32. An exact plan splits q (scaled
// by a power of two) and each probability into a sum of two operands. A score is then off by 2^-17
// of sum |q k|, O by 2^-17 of sum p |v| (2^-22 for f16; 2^-16 when unrounded, where k and v are
// split too). Without that the errors are 2^-8 (bf16) and 2^-11 (f16). Infinite values in K or V
// give NaN. NaN in q stays with its query head; NaN in k and v stays with the rows of the KV head
// that see it. The results of a sequence do not depend on the rest of the call.
//
// The caller owns plan and workspace, in device memory, aligned to 16.
//
// Shared memory of a block: at most 61 KiB for 64 values per head, 108 KiB for 128, 139 KiB for
// 256. GPUs with 99 KiB per block (sm_86, sm_89, sm_120) get tiles of 32 tokens for 128 values,
// with other bits than tiles of 64, and no bucket for 256. The Hopper path (prefill_hopper.cuh)
// exists because mma.sync reaches only part of that GPU's matrix rate. It has tiles of 128 query
// heads and 128 tokens, takes f16 and bf16 in rows of 64 and 128 values, needs up to 197 KiB of
// shared memory, and gives other bits than the generic path.
struct PrefillAttention {
  const void* plan = nullptr;  // bucket.plan_bytes
  float scale = 1.0f;          // of q k^T
  float softcap = 0.0f;        // scores s become softcap * tanh(s / softcap); 0: as they are
  const float* q = nullptr;    // [rows, q_heads, head_dim]
  float* o = nullptr;          // [rows, q_heads, head_dim]; rows of no sequence are not written
  float* lse = nullptr;        // [rows, q_heads], natural log
};

struct CausalAttention {
  PrefillAttention attention;
  const float* k = nullptr;   // [rows, kv_heads, head_dim]
  const float* v = nullptr;   // the same
  void* workspace = nullptr;  // bucket.workspace_bytes
};

struct PagedAttention {
  PrefillAttention attention;
  KvPool pool;
  int layer = 0;
  const std::uint32_t* pages = nullptr;  // the page list
};

// Whether the current device can run buckets of the Hopper path: exactly compute capability 9.0.
bool has_hopper_prefill();

// The rows of each chunk attend among themselves. Row i sees rows 0..i of its chunk, or the last
// `window` of them. k and v are first rounded into the workspace, in the form that pages store.
// Graph-safe: two launches (unrounded: one). Errors: cudaErrorInvalidValue for an invalid bucket or
// a bucket of the other function.
cudaError_t causal_attention(const PrefillBucket& bucket, const CausalAttention& job,
                             cudaStream_t stream);
// The rows of sequences attend to their pages, without a mask. Graph-safe: one launch. Errors: as
// causal_attention(), and for a pool of another shape.
cudaError_t paged_attention(const PrefillBucket& bucket, const PagedAttention& job,
                            cudaStream_t stream);

}  // namespace tandem::gpu_kernels
