// SPDX-License-Identifier: Apache-2.0
//
// Attention of many query rows: softmax(scale q k^T) v and its LSE; GQA and MQA of any group size,
// soft cap.
//
//   causal_attention(): rows of each chunk among themselves; row i sees rows 0..i of its chunk, or
//     the last `window` of them. k and v are first rounded into the workspace, as pages store them
//   paged_attention(): rows of sequences over their pages, without a mask
//  block of 4 warps holds 64 query heads (128 if not exact). K and V pass in tiles of 64 or 32
//  tokens, copied ahead of
// se; scores, softmax and O stay in registers; tiles that no row of a warp sees are skipped. Shared
// memory of a block: at most 61 KiB for 64 alues per head, 108 KiB for 128, 139 KiB for 256. GPUs
// with 99 KiB per block (sm_86, sm_89, sm_120) get tiles of 32 okens for 128 values (other bits
// than tiles of 64), and no bucket for 256. FLOPs: 4 head_dim per query head and visible ey, twice
// that when exact; bytes: K and V once per 64 query heads, from the L2 cache except the first time.
// The Hopper path prefill_hopper.cuh; mma.sync reaches only part of that GPU's matrix rate) has
// tiles of 128 query heads and 128 tokens, for f16 and f16 rows of 64 and 128 values; up to 197 KiB
// of shared memory; other bits than the generic path.
//
// Numerics: stored values are exact 16-bit operands (f16; bf16 for all other types); scales
// multiply scores and probabilities; scores, softmax and O are f32. Exact: q, scaled by a power of
// two, and probabilities are sums of two operands; a score is off by 2^-17 of sum |q k|, O by 2^-17
// of sum p |v| (2^-22 for f16; 2^-16 when unrounded, where k and v are split too). Not exact: 2^-8
// (bf16) and 2^-11 (f16). Infinite values in K or V give NaN; NaN in q stays with its query head,
// in k and v with the KV head's rows that see it. A sequence's results do not depend on the rest of
// the call. Graph-safe: two launches (causal), one (paged, unrounded); plan and workspace are the
// caller's, in device memory, aligned to 16. Errors: cudaErrorInvalidValue for an invalid bucket,
// one of the other function, or a pool of another shape. cuDNN is not used: it lacks the
// combination of pages of every size with scales, windows, soft caps and an f32 LSE. Which is
// faster has not been measured. Source: Dao, FlashAttention-2, 2023 (the order of work).
#pragma once

#include <cuda_runtime_api.h>

#include "attention/prefill_plan.h"

namespace tandem::gpu_kernels {

struct PrefillAttention {
  const void* plan = nullptr;  // bucket.plan_bytes
  float scale = 1.0f;          // of q k^T
  float softcap = 0.0f;        // scores s become softcap * tanh(s / softcap); 0: as they are
  const float* q = nullptr;    // [rows, q_heads, head_dim]
  float* o = nullptr;          // [rows, q_heads, head_dim]; rows of no sequence are left alone
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

// Whether the current device can run buckets of the Hopper path: compute capability 9.0, nothing
// newer.
bool has_hopper_prefill();

cudaError_t causal_attention(const PrefillBucket& bucket, const CausalAttention& job,
                             cudaStream_t stream);
cudaError_t paged_attention(const PrefillBucket& bucket, const PagedAttention& job,
                            cudaStream_t stream);

}  // namespace tandem::gpu_kernels
