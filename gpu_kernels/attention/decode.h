// SPDX-License-Identifier: Apache-2.0
//
// Decode attention over paged KV: softmax(scale q k^T) v and its LSE, for a planned batch of groups
// of query rows (decode_plan.h). GQA and MQA of any group size, windows, soft cap.
//
// Two launches: blocks that each read their share of the tokens, then the reduction of split
// groups. A stored byte of K and V is read once per item_rows query heads: all heads and rows of a
// group, up to 64 (32 from head_dim 129 on). Bytes: those of the tokens, rounded up to 16. FLOPs:
// some 32 per stored value and eight query heads, on tensor cores.
#pragma once

#include <cuda_runtime_api.h>

#include "attention/decode_plan.h"

namespace tandem::gpu_kernels {

struct DecodeAttention {
  KvPool pool;
  int layer = 0;
  float scale = 1.0f;        // of q k^T
  float softcap = 0.0f;      // scores s become softcap * tanh(s / softcap); 0: as they are
  const float* q = nullptr;  // [rows, q_heads, head_dim]
  const std::uint32_t* pages = nullptr;  // the page list
  const void* plan = nullptr;            // bucket.plan_bytes
  void* workspace = nullptr;             // bucket.workspace_bytes
  float* o = nullptr;                    // [rows, q_heads, head_dim]
  float* lse = nullptr;                  // [rows, q_heads], natural log
};

// Numerics: stored values are exact 16-bit operands (8-bit types become f16; scales multiply scores
// and probabilities). q is scaled by a power of two and is the sum of two f16 or three bf16 values;
// probabilities are sums of two. Sums, softmax and O are f32. Compared with f32 arithmetic, a score
// is off by some 2^-22 of sum |q k|, and O by 2^-21 (f16, 8-bit) or 2^-16 (bf16). Infinite values
// in K or V give NaN. NaN stays within its query head (q) or KV head (k, v). Results do not depend
// on the order of blocks; the cuts of the plan change their rounding.
// Graph-safe. The caller owns workspace and plan, in device memory, aligned to 16. Errors:
// cudaErrorInvalidValue for a bucket without blocks or a pool of another shape.
cudaError_t decode_attention(const DecodeBucket& bucket, const DecodeAttention& job,
                             cudaStream_t stream);

}  // namespace tandem::gpu_kernels
