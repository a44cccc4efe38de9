// SPDX-License-Identifier: Apache-2.0
//
// The products with the inputs of all tokens are one; those with the state follow token by token.
#include "training/trainer/lstm_computation.h"

#include <torch/torch.h>

#include "training/trainer/torch/language_pass.h"
#include "training/trainer/torch/linear.h"

namespace tandem::training::torch_passes {
namespace {

using torch::Tensor;

struct LstmLayer {
  Tensor input, recurrent, bias, forget;
};

class Lstm final : public LanguagePass {
 public:
  Lstm(const LstmSizes& sizes, const ComputationOptions& options, const ParameterMemory* parameters,
       std::size_t num_parameters)
      : LanguagePass(options, parameters, num_parameters), sizes_(sizes) {
    output_bias_ = parameter("output.bias");
    for (int number = 0; number < sizes.num_layers; ++number) {
      const std::string name = "lstm." + std::to_string(number);
      const LstmLayer layer{parameter(name + ".input.weight"),
                            parameter(name + ".recurrent.weight"), parameter(name + ".bias"),
                            parameter(name + ".forget.bias")};
      add_layer([this, layer](const Tensor& x) { return states(layer, x); });
    }
  }

 private:
  // x and the result: [rows, tokens, width].
  Tensor states(const LstmLayer& layer, const Tensor& x) const {
    const Tensor inputs = linear(x, layer.input, bf16()) + layer.bias;
    Tensor h = torch::zeros({x.size(0), sizes_.width}), c = h;
    std::vector<Tensor> all;
    for (std::int64_t token = 0; token < x.size(1); ++token) {
      const Tensor gates = inputs.select(1, token) + linear(h, layer.recurrent, bf16());
      const std::vector<Tensor> parts = gates.chunk(4, 1);
      c = torch::sigmoid(parts[1] + layer.forget) * c +
          torch::sigmoid(parts[0]) * torch::tanh(parts[2]);
      h = torch::sigmoid(parts[3]) * torch::tanh(c);
      all.push_back(h);
    }
    return torch::stack(all, 1);
  }

  Tensor output(const Tensor& x) const override {
    return linear(x, output_weight(), bf16()) + output_bias_;
  }

  LstmSizes sizes_;
  Tensor output_bias_;
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
