// SPDX-License-Identifier: Apache-2.0
//
// A Llama-family decoder: RMSNorm, attention with rotary embedding and grouped heads, SwiGLU, tied
// or separate output. The arithmetic is that of the engine's compute unit.
#include <torch/torch.h>

#include <stdexcept>

#include "training/trainer/torch/attention.h"
#include "training/trainer/torch/language_pass.h"
#include "training/trainer/torch/linear.h"
#include "training/trainer/torch/rotation.h"

namespace tandem::training::torch_passes {
namespace {

using torch::Tensor;

struct Layer {
  Tensor attention_norm, wq, wk, wv, wo, ffn_norm, gate, up, down;
};

class Decoder final : public LanguagePass {
 public:
  Decoder(const DecoderSizes& sizes, const ComputationOptions& options,
          const ParameterMemory* parameters, std::size_t num_parameters)
      : LanguagePass(options, parameters, num_parameters), sizes_(sizes) {
    output_norm_ = parameter("output_norm.weight");
    for (int number = 0; number < sizes.num_layers; ++number) {
      const Layer layer = layer_of("blk." + std::to_string(number) + ".");
      add_layer([this, layer](const Tensor& x) { return block(layer, x); });
    }
    set_angles();
  }

 private:
  Layer layer_of(const std::string& block) const {
    const auto get = [&](const char* name) { return parameter(block + name + ".weight"); };
    return {get("attn_norm"), get("attn_q"),   get("attn_k"), get("attn_v"),  get("attn_output"),
            get("ffn_norm"),  get("ffn_gate"), get("ffn_up"), get("ffn_down")};
  }

  void set_angles() {
    const Tensor frequencies =
        torch::from_blob(const_cast<float*>(sizes_.inverse_frequencies), {sizes_.num_frequencies})
            .to(torch::kDouble);
    const Tensor angles = torch::outer(torch::arange(sizes_.context, torch::kDouble), frequencies);
    angles_.cosines = (angles.cos() * sizes_.rope_magnitude).to(torch::kFloat);
    angles_.sines = (angles.sin() * sizes_.rope_magnitude).to(torch::kFloat);
  }

  Tensor norm(const Tensor& x, const Tensor& weight) const {
    return x * torch::rsqrt(x.square().mean(-1, true) + sizes_.norm_epsilon) * weight;
  }

  Tensor block(const Layer& layer, const Tensor& x) const {
    const auto heads = [&](const Tensor& projected, int count) {
      return projected.view({x.size(0), x.size(1), count, sizes_.head_dim});
    };
    const Angles angles{angles_.cosines.narrow(0, 0, x.size(1)),
                        angles_.sines.narrow(0, 0, x.size(1))};
    const Tensor normed = norm(x, layer.attention_norm);
    const Tensor q = rotate(heads(linear(normed, layer.wq, bf16()), sizes_.q_heads), angles);
    const Tensor k = rotate(heads(linear(normed, layer.wk, bf16()), sizes_.kv_heads), angles);
    const Tensor v = heads(linear(normed, layer.wv, bf16()), sizes_.kv_heads);
    const Tensor mixed = causal_attention(q, k, v, sizes_.attention_scale).flatten(2);
    const Tensor after = x + linear(mixed, layer.wo, bf16());
    const Tensor inner = norm(after, layer.ffn_norm);
    const Tensor hidden =
        torch::silu(linear(inner, layer.gate, bf16())) * linear(inner, layer.up, bf16());
    return after + linear(hidden, layer.down, bf16());
  }

  void check(const TokenBatch& batch) const override {
    if (batch.columns > sizes_.context) throw std::runtime_error("a row exceeds the context");
  }

  Tensor output(const Tensor& x) const override {
    return linear(norm(x, output_norm_), output_weight(), bf16());
  }

  DecoderSizes sizes_;
  Tensor output_norm_;
  Angles angles_;
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
