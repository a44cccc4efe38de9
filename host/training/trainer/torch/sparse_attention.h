// SPDX-License-Identifier: Apache-2.0
//
// sparse_causal_attention(): causal attention over the blocks of keys that hold most of it.
//
// Shapes as in attention.h. Blocks have 64 tokens. A block of queries has four groups; the softmax
// of their means' products with all keys so far estimates the attention of each block of keys. The
// block's own keys are always chosen, then the other blocks with the most attention, until all
// chosen ones hold `mass` of it. Only these are computed. The choice has no gradient. Memory: a
// byte per pair of blocks and head. Threads: libtorch's; a task is a row and a KV head.
#pragma once

#include <torch/torch.h>

namespace tandem::training::torch_passes {

// mass: above 0, at most 1.
torch::Tensor sparse_causal_attention(const torch::Tensor& q, const torch::Tensor& k,
                                      const torch::Tensor& v, double scale, double mass);

// [rows, q_heads, blocks, blocks], bytes: 1 where a block of queries reads a block of keys.
torch::Tensor choose_key_blocks(const torch::Tensor& q, const torch::Tensor& k, double scale,
                                double mass);

}  // namespace tandem::training::torch_passes
