// SPDX-License-Identifier: Apache-2.0
//
// A Llama-family decoder as a whole: tied or separate output.
#include <torch/torch.h>

#include <stdexcept>
#include <string>

#include "training/trainer/torch/decoder_block.h"
#include "training/trainer/torch/language_pass.h"

namespace tandem::training::torch_passes {
namespace {

using torch::Tensor;

class Decoder final : public LanguagePass {
 public:
  Decoder(const DecoderSizes& sizes, const ComputationOptions& options,
          const ParameterMemory* parameters, std::size_t num_parameters)
      : LanguagePass(options, parameters, num_parameters), blocks_(sizes, options) {
    output_norm_ = parameter("output_norm.weight");
    for (int number = 0; number < sizes.num_layers; ++number) {
      const BlockWeights layer = block_weights(leaves(), number);
      add_layer([this, layer](const Tensor& x) { return blocks_.block(layer, x, {}); });
    }
  }

 private:
  void check(const TokenBatch& batch) const override {
    if (batch.columns > blocks_.context()) {
      throw std::runtime_error("a row of " + std::to_string(batch.columns) +
                               " tokens exceeds the context of " +
                               std::to_string(blocks_.context()));
    }
  }

  Tensor output(const Tensor& x) const override {
    return blocks_.output(x, output_norm_, output_weight());
  }

  DecoderBlocks blocks_;
  Tensor output_norm_;
};

}  // namespace
}  // namespace tandem::training::torch_passes

// The rest of the library is hidden.
#define TANDEM_EXPORTED __attribute__((visibility("default")))

extern "C" {

TANDEM_EXPORTED int tandem_trainer_version() { return kTandemTrainerVersion; }

TANDEM_EXPORTED const char* tandem_trainer_libtorch() { return TORCH_VERSION; }

TANDEM_EXPORTED tandem::training::Computation* tandem_trainer_make_decoder(
    const tandem::training::DecoderSizes* sizes,
    const tandem::training::ComputationOptions* options,
    const tandem::training::ParameterMemory* parameters, std::size_t num_parameters) {
  if (options->threads > 0) torch::set_num_threads(options->threads);
  return new tandem::training::torch_passes::Decoder(*sizes, *options, parameters, num_parameters);
}
}
