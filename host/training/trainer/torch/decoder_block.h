// SPDX-License-Identifier: Apache-2.0
//
// DecoderBlocks: the arithmetic of a Llama-family decoder's parts, for the whole model and for
// single layers.
//
// Tensors are [rows, tokens, width]. RMSNorm, attention with rotary embedding and grouped heads,
// SwiGLU, or experts. DynamicBlocks (computation.h) says what a block may leave out. Under early
// exit a tensor has one more column: 1 for a token that has left; its state stays as it is, and
// only its keys and values are computed. Threads: libtorch's. Sources: Raposo et al. 2024 (mixture
// of depths), Schuster et al. 2022 (early exit by the likeness of states).
#pragma once

#include <torch/torch.h>

#include "training/trainer/computation.h"
#include "training/trainer/torch/experts.h"
#include "training/trainer/torch/leaves.h"
#include "training/trainer/torch/rotation.h"

namespace tandem::training::torch_passes {

struct BlockWeights {
  int number = 0;
  torch::Tensor attention_norm, wq, wk, wv, wo, ffn_norm, gate, up, down;
  ExpertWeights experts;       // in place of gate, up and down
  torch::Tensor depth_router;  // [1, width], of every second block with depth routers
};

BlockWeights block_weights(const Leaves& leaves, int number);

class DecoderBlocks {
 public:
  DecoderBlocks(const DecoderSizes& sizes, const ComputationOptions& options);

  // How the step's blocks differ from others.
  struct Step {
    double depth = 1;  // share of a row's tokens that a block with a router computes
    double skew = 0;   // of the routing to experts in the last block; less in earlier ones
  };
  torch::Tensor block(const BlockWeights& layer, const torch::Tensor& x, const Step& step) const;
  // Logits, [rows, tokens, vocabulary].
  torch::Tensor output(const torch::Tensor& x, const torch::Tensor& norm_weight,
                       const torch::Tensor& weight) const;
  // Of the embedding's result, what blocks expect.
  torch::Tensor entered(const torch::Tensor& x) const;
  int context() const { return sizes_.context; }
  int columns() const { return sizes_.width + (has_exits() ? 1 : 0); }

 private:
  bool has_exits() const { return dynamics_.exit_likeness > 0; }
  double depth_of(int number) const;
  double attention_mass(int number) const;
  torch::Tensor norm(const torch::Tensor& x, const torch::Tensor& weight) const;
  torch::Tensor product(const torch::Tensor& x, const torch::Tensor& w) const;
  torch::Tensor whole_block(const BlockWeights& layer, const torch::Tensor& x, const Angles& angles,
                            const Step& step) const;
  torch::Tensor feed_forward(const BlockWeights& layer, const torch::Tensor& after,
                             const Step& step) const;
  torch::Tensor routed(const BlockWeights& layer, const torch::Tensor& x, const Step& step) const;
  torch::Tensor exiting(const BlockWeights& layer, const torch::Tensor& x, const Step& step) const;
  torch::Tensor attention_of(const BlockWeights& layer, const torch::Tensor& normed,
                             const torch::Tensor& positions) const;
  Angles angles(std::int64_t tokens) const;
  Angles angles_at(const torch::Tensor& positions) const;

  DecoderSizes sizes_;
  bool bf16_;
  DynamicBlocks dynamics_;
  Angles angles_;
};

}  // namespace tandem::training::torch_passes
