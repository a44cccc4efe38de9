// SPDX-License-Identifier: Apache-2.0
//
// Causal attention of grouped queries, with its gradients, without the scores of all pairs.
//
// q: [rows, tokens, q_heads, head_dim]; k, v: [rows, tokens, kv_heads, head_dim]; f32; the result
// has the shape of q. A block of queries reads the keys up to its own end, so about half of the
// scores are computed. The backward pass computes them again. Memory: a block of scores per thread.
// Threads: libtorch's; a task is a row and a KV head. Source: FlashAttention (Dao 2023).
#pragma once

#include <torch/torch.h>

namespace tandem::training::torch_passes {

// positions: of the queries among the keys where there are fewer queries, ascending, int64; else
// undefined.
torch::Tensor causal_attention(const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, double scale,
                               const torch::Tensor& positions = {});

}  // namespace tandem::training::torch_passes
