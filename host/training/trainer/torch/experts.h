// SPDX-License-Identifier: Apache-2.0
//
// mix_experts(): a feed-forward of experts, Mixtral's, with its gradients.
//
// The `used` experts with the greatest logits compute a token, weighted by the softmax of these
// logits. With a capacity an expert takes at most capacity * tokens * used / experts tokens, the
// first ones; what it does not take counts as zero. So blocks whose router is uneven compute less.
// Threads: libtorch's. Sources: Jiang et al. 2024 (Mixtral), Lepikhin et al. 2020 (GShard).
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace tandem::training::torch_passes {

struct ExpertWeights {
  torch::Tensor router;                       // [experts, width]
  std::vector<torch::Tensor> gate, up, down;  // [experts] of [ffn, width], [width, ffn]
};

struct ExpertChoice {
  int used = 1;
  double capacity = 0;  // 0: every expert takes all of its tokens
  double skew = 0;      // expert i's logit is less by i times this
};

// The next whole number; a share that is an f32 does not raise it by one.
std::int64_t whole_tokens(double count);

using LinearProduct = std::function<torch::Tensor(const torch::Tensor& x, const torch::Tensor& w)>;

// x: [tokens, width]; the result has its shape.
torch::Tensor mix_experts(const ExpertWeights& weights, const ExpertChoice& choice,
                          const torch::Tensor& x, const LinearProduct& linear);

}  // namespace tandem::training::torch_passes
