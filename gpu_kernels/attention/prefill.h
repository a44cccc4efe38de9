// SPDX-License-Identifier: Apache-2.0
//
// Attention of many query rows: softmax(scale q k^T) v and its LSE, GQA and MQA of any group size,
// soft cap, over two sources of K and V:
//   causal_attention(): each chunk's rows among themselves, row i seeing rows 0..i of its chunk or
//     the last `window` of them; k and v are first rounded into the workspace as pages store them;
//   paged_attention(): rows of sequences over their pages, without a mask.
// One kernel for both: a block of 4 warps holds 64 query heads (128 where not exact), walks K and V
// in tiles of 64 or 32 tokens that are copied ahead of use, and keeps scores, softmax and O in
// registers, so that no score reaches memory; keys that no row of a warp sees are passed over.
// Shared memory of a block: at most 61 KiB for 64 values per head, 108 KiB for 128, 139 KiB for
// 256. GPUs that give a block 99 KiB (sm_86, sm_89, sm_120) get tiles of 32 tokens for 128 values
// (other bits than tiles of 64), and no bucket for 256. FLOPs: 4 head_dim per query head and key
// seen, twice that when exact; bytes: K and V once per 64 query heads, from the L2 cache for all
// but the first. The Hopper path (prefill_hopper.cuh; mma.sync reaches a part of that chip's matrix
// rate only) has tiles of 128 query heads and 128 tokens, and takes f16 and bf16 in rows of 64 and
// 128 values; up to 197 KiB of a block's shared memory, other bits than the generic path.
// Numerics: stored values are exact 16-bit operands (f16; bf16 for all other types,
// scales multiply scores and probabilities); scores, softmax and O are f32. Exact: q and
// probabilities are sums of two such operands, q after scaling by a power of two, so that a score
// is off by 2^-17 of sum |q k| and O by 2^-17 of sum p |v| (2^-22 for f16; 2^-16 when unrounded,
// where k and v are split too). Not exact: by 2^-8 and 2^-11, as kernels are whose q is bf16 or
// f16. Infinite values in K or V give NaN; NaN in q stays with its query head, in k and v with the
// KV head's rows that see it. Results of a sequence do not depend on what shares the call. Why an
// own kernel and not cuDNN's: pages of every size with scales, windows, soft caps and an LSE in f32
// at once, and no dependency. Which is faster has not been measured. Graph-safe: two launches
// (causal), one (paged, unrounded); plan and workspace are the caller's, in device memory, aligned
// to 16. Errors: cudaErrorInvalidValue for a bucket that is none, or not of this function, or a
// pool of another shape. Source: Dao, FlashAttention-2, 2023 (the order of work); the splitting of
// operands is the textbook's.
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
