// SPDX-License-Identifier: Apache-2.0
//
// sparse_causal_attention(): causal attention over the blocks of keys that hold most of it.
//
// Shapes as in attention.h. Blocks have 64 tokens. The means of four groups of queries of a block
// meet all earlier keys; the softmax of these products estimates how much attention each block of
// keys gets. The blocks with the most are computed until they hold `mass` of it; a block's own keys
// always are. So a head that looks at few places costs less. The choice has no gradient. Memory: a
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
