// SPDX-License-Identifier: Apache-2.0
//
// The loss is the cross entropy of the targets, in nats.
#include "training/trainer/torch/language_pass.h"

#include <algorithm>

namespace tandem::training::torch_passes {
namespace {

using torch::Tensor;

Tensor ids(const std::int32_t* values, const TokenBatch& batch) {
  return torch::from_blob(const_cast<std::int32_t*>(values), {batch.rows, batch.columns},
                          torch::kInt)
      .to(torch::kLong);
}

}  // namespace

LanguagePass::LanguagePass(const ComputationOptions& options, const ParameterMemory* parameters,
                           std::size_t num_parameters)
    : options_(options), leaves_(parameters, num_parameters) {
  embedding_ = leaves_.get("token_embd.weight");
  output_weight_ = leaves_.has("output.weight") ? leaves_.get("output.weight") : embedding_;
}

template <typename Reduction>
Tensor LanguagePass::loss_of(const TokenBatch& batch, Reduction reduction) const {
  check(batch);
  Tensor x = torch::embedding(embedding_, ids(batch.tokens, batch));
  for (const Part& layer : layers_) {
    const bool keep = !options_.recompute || !torch::GradMode::is_enabled();
    x = keep ? layer(x) : recomputed(layer, x);
  }
  return torch::nn::functional::cross_entropy(output(x).flatten(0, 1),
                                              ids(batch.targets, batch).view(-1),
                                              torch::nn::functional::CrossEntropyFuncOptions()
                                                  .ignore_index(kNotScored)
                                                  .reduction(reduction));
}

double LanguagePass::backward(const TokenBatch& batch, float scale, GradientListener* listener) {
  const Tensor loss = loss_of(batch, torch::kSum);
  leaves_.backward(loss * scale, listener);
  return loss.item<double>();
}

void LanguagePass::losses(const TokenBatch& batch, float* losses) {
  const torch::NoGradGuard no_gradients;
  const Tensor found = loss_of(batch, torch::kNone);
  std::copy_n(found.data_ptr<float>(), found.numel(), losses);
}

}  // namespace tandem::training::torch_passes
