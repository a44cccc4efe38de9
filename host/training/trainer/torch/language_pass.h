// SPDX-License-Identifier: Apache-2.0
//
// LanguagePass: the common parts of language models: embedding, layers, output and loss.
//
// A model adds its layers in its constructor and implements the output. Layers map [rows, tokens,
// width] to the same shape; their activations are kept, or computed again (recompute.h). Threads:
// as Computation. Errors: std::exception with libtorch's text.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "training/trainer/torch/leaves.h"
#include "training/trainer/torch/recompute.h"

namespace tandem::training::torch_passes {

class LanguagePass : public Computation {
 public:
  double backward(const TokenBatch& batch, float scale, GradientListener* listener) final;
  void losses(const TokenBatch& batch, float* losses) final;

 protected:
  LanguagePass(const ComputationOptions& options, const ParameterMemory* parameters,
               std::size_t num_parameters);

  // Computes logits, [rows, tokens, vocabulary], from the result of the last layer.
  virtual torch::Tensor output(const torch::Tensor& x) const = 0;
  // Throws for a batch that the model does not support.
  virtual void check(const TokenBatch& /*batch*/) const {}

  void add_layer(Part layer) { layers_.push_back(std::move(layer)); }
  torch::Tensor parameter(const std::string& name) const { return leaves_.get(name); }
  const Leaves& leaves() const { return leaves_; }
  // The output matrix: the embedding if the model has no separate one.
  const torch::Tensor& output_weight() const { return output_weight_; }
  bool bf16() const { return options_.bf16; }

 private:
  template <typename Reduction>
  torch::Tensor loss_of(const TokenBatch& batch, Reduction reduction) const;

  ComputationOptions options_;
  Leaves leaves_;
  torch::Tensor embedding_, output_weight_;
  std::vector<Part> layers_;
};

}  // namespace tandem::training::torch_passes
