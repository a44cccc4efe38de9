// SPDX-License-Identifier: Apache-2.0
//
// DecoderBlocks: the arithmetic of a Llama-family decoder's parts, for the whole model and for
// single layers.
//
// Tensors are [rows, tokens, width]. RMSNorm, attention with rotary embedding and grouped heads,
// SwiGLU. Threads: libtorch's.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>

#include "training/trainer/computation.h"
#include "training/trainer/torch/rotation.h"

namespace tandem::training::torch_passes {

struct BlockWeights {
  torch::Tensor attention_norm, wq, wk, wv, wo, ffn_norm, gate, up, down;
};

// get: the parameter of a name.
BlockWeights block_weights(const std::function<torch::Tensor(const std::string&)>& get, int number);

class DecoderBlocks {
 public:
  DecoderBlocks(const DecoderSizes& sizes, bool bf16);

  torch::Tensor block(const BlockWeights& layer, const torch::Tensor& x) const;
  // Logits, [rows, tokens, vocabulary].
  torch::Tensor output(const torch::Tensor& x, const torch::Tensor& norm_weight,
                       const torch::Tensor& weight) const;
  int context() const { return sizes_.context; }

 private:
  torch::Tensor norm(const torch::Tensor& x, const torch::Tensor& weight) const;

  DecoderSizes sizes_;
  bool bf16_;
  Angles angles_;
};

}  // namespace tandem::training::torch_passes
