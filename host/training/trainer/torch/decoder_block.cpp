// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic is that of the engine's compute unit.
#include "training/trainer/torch/decoder_block.h"

#include "training/trainer/torch/attention.h"
#include "training/trainer/torch/linear.h"

namespace tandem::training::torch_passes {

using torch::Tensor;

BlockWeights block_weights(const std::function<Tensor(const std::string&)>& get, int number) {
  const auto weight = [&](const char* name) {
    return get("blk." + std::to_string(number) + "." + name + ".weight");
  };
  return {weight("attn_norm"), weight("attn_q"),      weight("attn_k"),
          weight("attn_v"),    weight("attn_output"), weight("ffn_norm"),
          weight("ffn_gate"),  weight("ffn_up"),      weight("ffn_down")};
}

DecoderBlocks::DecoderBlocks(const DecoderSizes& sizes, bool bf16) : sizes_(sizes), bf16_(bf16) {
  const Tensor frequencies =
      torch::from_blob(const_cast<float*>(sizes_.inverse_frequencies), {sizes_.num_frequencies})
          .to(torch::kDouble);
  const Tensor angles = torch::outer(torch::arange(sizes_.context, torch::kDouble), frequencies);
  angles_.cosines = (angles.cos() * sizes_.rope_magnitude).to(torch::kFloat);
  angles_.sines = (angles.sin() * sizes_.rope_magnitude).to(torch::kFloat);
}

Tensor DecoderBlocks::norm(const Tensor& x, const Tensor& weight) const {
  return x * torch::rsqrt(x.square().mean(-1, true) + sizes_.norm_epsilon) * weight;
}

Tensor DecoderBlocks::block(const BlockWeights& layer, const Tensor& x) const {
  const auto heads = [&](const Tensor& projected, int count) {
    return projected.view({x.size(0), x.size(1), count, sizes_.head_dim});
  };
  const Angles angles{angles_.cosines.narrow(0, 0, x.size(1)),
                      angles_.sines.narrow(0, 0, x.size(1))};
  const Tensor normed = norm(x, layer.attention_norm);
  const Tensor q = rotate(heads(linear(normed, layer.wq, bf16_), sizes_.q_heads), angles);
  const Tensor k = rotate(heads(linear(normed, layer.wk, bf16_), sizes_.kv_heads), angles);
  const Tensor v = heads(linear(normed, layer.wv, bf16_), sizes_.kv_heads);
  const Tensor mixed = causal_attention(q, k, v, sizes_.attention_scale).flatten(2);
  const Tensor after = x + linear(mixed, layer.wo, bf16_);
  const Tensor inner = norm(after, layer.ffn_norm);
  const Tensor hidden =
      torch::silu(linear(inner, layer.gate, bf16_)) * linear(inner, layer.up, bf16_);
  return after + linear(hidden, layer.down, bf16_);
}

Tensor DecoderBlocks::output(const Tensor& x, const Tensor& norm_weight,
                             const Tensor& weight) const {
  return linear(norm(x, norm_weight), weight, bf16_);
}

}  // namespace tandem::training::torch_passes
