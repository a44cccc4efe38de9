// SPDX-License-Identifier: Apache-2.0
//
// The products with the inputs of all tokens are one; those with the state follow token by token.
#include "training/trainer/lstm_computation.h"

#include <torch/torch.h>

#include "training/trainer/torch/leaves.h"
#include "training/trainer/torch/linear.h"
#include "training/trainer/torch/recompute.h"

namespace tandem::training::torch_passes {
namespace {

using torch::Tensor;

struct Layer {
  Tensor input, recurrent, bias, forget;
};

class Lstm final : public Computation {
 public:
  Lstm(const LstmSizes& sizes, const ComputationOptions& options, const ParameterMemory* parameters,
       std::size_t num_parameters)
      : sizes_(sizes), options_(options), leaves_(parameters, num_parameters) {
    embedding_ = leaves_.get("token_embd.weight");
    output_ = leaves_.has("output.weight") ? leaves_.get("output.weight") : embedding_;
    output_bias_ = leaves_.get("output.bias");
    for (int layer = 0; layer < sizes.num_layers; ++layer) {
      const std::string name = "lstm." + std::to_string(layer);
      layers_.push_back({leaves_.get(name + ".input.weight"),
                         leaves_.get(name + ".recurrent.weight"), leaves_.get(name + ".bias"),
                         leaves_.get(name + ".forget.bias")});
    }
    for (const Layer& layer : layers_) {
      parts_.emplace_back([this, &layer](const Tensor& x) { return states(layer, x); });
    }
  }

  double backward(const TokenBatch& batch, float scale, GradientListener* listener) override {
    const Tensor loss = loss_of(batch, torch::kSum);
    leaves_.backward(loss * scale, listener);
    return loss.item<double>();
  }

  void losses(const TokenBatch& batch, float* losses) override {
    const torch::NoGradGuard no_gradients;
    const Tensor found = loss_of(batch, torch::kNone);
    std::copy_n(found.data_ptr<float>(), found.numel(), losses);
  }

 private:
  static Tensor ids(const std::int32_t* values, const TokenBatch& batch) {
    return torch::from_blob(const_cast<std::int32_t*>(values), {batch.rows, batch.columns},
                            torch::kInt)
        .to(torch::kLong);
  }

  // x and the result: [rows, tokens, width].
  Tensor states(const Layer& layer, const Tensor& x) const {
    const Tensor inputs = linear(x, layer.input, options_.bf16) + layer.bias;
    Tensor h = torch::zeros({x.size(0), sizes_.width}), c = h;
    std::vector<Tensor> all;
    for (std::int64_t token = 0; token < x.size(1); ++token) {
      const Tensor gates = inputs.select(1, token) + linear(h, layer.recurrent, options_.bf16);
      const std::vector<Tensor> parts = gates.chunk(4, 1);
      c = torch::sigmoid(parts[1] + layer.forget) * c +
          torch::sigmoid(parts[0]) * torch::tanh(parts[2]);
      h = torch::sigmoid(parts[3]) * torch::tanh(c);
      all.push_back(h);
    }
    return torch::stack(all, 1);
  }

  template <typename Reduction>
  Tensor loss_of(const TokenBatch& batch, Reduction reduction) const {
    Tensor x = torch::embedding(embedding_, ids(batch.tokens, batch));
    for (const Part& part : parts_) {
      const bool keep = !options_.recompute || !torch::GradMode::is_enabled();
      x = keep ? part(x) : recomputed(part, x);
    }
    const Tensor logits = linear(x, output_, options_.bf16) + output_bias_;
    return torch::nn::functional::cross_entropy(logits.view({-1, sizes_.vocab_size}),
                                                ids(batch.targets, batch).view(-1),
                                                torch::nn::functional::CrossEntropyFuncOptions()
                                                    .ignore_index(kNotScored)
                                                    .reduction(reduction));
  }

  LstmSizes sizes_;
  ComputationOptions options_;
  Leaves leaves_;
  Tensor embedding_, output_, output_bias_;
  std::vector<Layer> layers_;
  std::vector<Part> parts_;
};

}  // namespace
}  // namespace tandem::training::torch_passes

extern "C" {

__attribute__((visibility("default"))) tandem::training::Computation* tandem_trainer_make_lstm(
    const tandem::training::LstmSizes* sizes, const tandem::training::ComputationOptions* options,
    const tandem::training::ParameterMemory* parameters, std::size_t num_parameters) {
  if (options->threads > 0) torch::set_num_threads(options->threads);
  return new tandem::training::torch_passes::Lstm(*sizes, *options, parameters, num_parameters);
}
}
