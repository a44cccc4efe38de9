// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic is that of the engine's compute unit.
#include "training/trainer/torch/decoder_block.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "training/trainer/torch/attention.h"
#include "training/trainer/torch/linear.h"
#include "training/trainer/torch/sparse_attention.h"
#include "training/trainer/torch/sparse_linear.h"

namespace tandem::training::torch_passes {

using torch::Tensor;

BlockWeights block_weights(const Leaves& leaves, int number) {
  const std::string block = "blk." + std::to_string(number) + ".";
  const auto weight = [&](const std::string& name) { return leaves.get(block + name + ".weight"); };
  BlockWeights result;
  result.number = number;
  result.attention_norm = weight("attn_norm");
  result.wq = weight("attn_q");
  result.wk = weight("attn_k");
  result.wv = weight("attn_v");
  result.wo = weight("attn_output");
  result.ffn_norm = weight("ffn_norm");
  if (leaves.has(block + "depth_router.weight")) result.depth_router = weight("depth_router");
  if (!leaves.has(block + "ffn_gate_inp.weight")) {
    result.gate = weight("ffn_gate");
    result.up = weight("ffn_up");
    result.down = weight("ffn_down");
    return result;
  }
  result.experts = {weight("ffn_gate_inp"), leaves.slices(block + "ffn_gate_exps.weight"),
                    leaves.slices(block + "ffn_up_exps.weight"),
                    leaves.slices(block + "ffn_down_exps.weight")};
  return result;
}

DecoderBlocks::DecoderBlocks(const DecoderSizes& sizes, const ComputationOptions& options)
    : sizes_(sizes), bf16_(options.bf16), dynamics_(options.dynamics) {
  const Tensor frequencies =
      torch::from_blob(const_cast<float*>(sizes_.inverse_frequencies), {sizes_.num_frequencies})
          .to(torch::kDouble);
  const Tensor turns = torch::outer(torch::arange(sizes_.context, torch::kDouble), frequencies);
  angles_.cosines = (turns.cos() * sizes_.rope_magnitude).to(torch::kFloat);
  angles_.sines = (turns.sin() * sizes_.rope_magnitude).to(torch::kFloat);
}

Angles DecoderBlocks::angles(std::int64_t tokens) const {
  return {angles_.cosines.narrow(0, 0, tokens), angles_.sines.narrow(0, 0, tokens)};
}

Angles DecoderBlocks::angles_at(const Tensor& positions) const {
  return {angles_.cosines.index_select(0, positions), angles_.sines.index_select(0, positions)};
}

Tensor DecoderBlocks::norm(const Tensor& x, const Tensor& weight) const {
  return x * torch::rsqrt(x.square().mean(-1, true) + sizes_.norm_epsilon) * weight;
}

Tensor DecoderBlocks::product(const Tensor& x, const Tensor& w) const {
  const bool is_sparse = dynamics_.sparse_from > 0 && share_of_zeros(w) >= dynamics_.sparse_from;
  return is_sparse ? sparse_linear(x, w) : linear(x, w, bf16_);
}

// From 0 in the first block to 1 in the last.
double DecoderBlocks::depth_of(int number) const {
  return number / std::max(1.0, sizes_.num_layers - 1.0);
}

double DecoderBlocks::attention_mass(int number) const {
  const double first = dynamics_.attention_mass, last = dynamics_.attention_mass_last;
  return last > 0 ? first + (last - first) * depth_of(number) : first;
}

Tensor DecoderBlocks::block(const BlockWeights& layer, const Tensor& x, const Step& step) const {
  if (has_exits()) return exiting(layer, x, step);
  if (layer.depth_router.defined()) return routed(layer, x, step);
  return whole_block(layer, x, angles(x.size(1)), step);
}

namespace {

Tensor by_heads(const Tensor& projected, int count, int head_dim) {
  return projected.view({projected.size(0), projected.size(1), count, head_dim});
}

}  // namespace

Tensor DecoderBlocks::whole_block(const BlockWeights& layer, const Tensor& x, const Angles& turns,
                                  const Step& step) const {
  const Tensor normed = norm(x, layer.attention_norm);
  const int dim = sizes_.head_dim;
  const Tensor q = rotate(by_heads(product(normed, layer.wq), sizes_.q_heads, dim), turns);
  const Tensor k = rotate(by_heads(product(normed, layer.wk), sizes_.kv_heads, dim), turns);
  const Tensor v = by_heads(product(normed, layer.wv), sizes_.kv_heads, dim);
  const double scale = sizes_.attention_scale, mass = attention_mass(layer.number);
  const Tensor mixed =
      mass > 0 ? sparse_causal_attention(q, k, v, scale, mass) : causal_attention(q, k, v, scale);
  return feed_forward(layer, x + product(mixed.flatten(2), layer.wo), step);
}

// after: the states behind the attention. [..., width]
Tensor DecoderBlocks::feed_forward(const BlockWeights& layer, const Tensor& after,
                                   const Step& step) const {
  const Tensor inner = norm(after, layer.ffn_norm);
  const auto multiply = [this](const Tensor& x, const Tensor& w) { return product(x, w); };
  if (layer.experts.router.defined()) {
    const ExpertChoice choice{sizes_.experts_used, dynamics_.expert_capacity,
                              step.skew * depth_of(layer.number)};
    const Tensor rows = inner.reshape({-1, inner.size(-1)});
    return after + mix_experts(layer.experts, choice, rows, multiply).view(after.sizes());
  }
  const Tensor hidden = torch::silu(product(inner, layer.gate)) * product(inner, layer.up);
  return after + product(hidden, layer.down);
}

// The tokens with the greatest scores of a row go through the block, as a shorter row.
Tensor DecoderBlocks::routed(const BlockWeights& layer, const Tensor& x, const Step& step) const {
  const std::int64_t tokens = x.size(1);
  const std::int64_t wanted = whole_tokens(step.depth * static_cast<double>(tokens));
  const std::int64_t count = std::clamp<std::int64_t>(wanted, 1, tokens);
  const Tensor scores = linear(x, layer.depth_router, false).squeeze(-1);
  std::vector<Tensor> rows;
  for (std::int64_t row = 0; row < x.size(0); ++row) {
    const Tensor score = scores.select(0, row), state = x.select(0, row);
    const Tensor chosen =
        std::get<0>(std::get<1>(score.detach().topk(count)).sort());  // places, ascending
    const Tensor own = state.index_select(0, chosen);
    const Tensor change = whole_block(layer, own.unsqueeze(0), angles_at(chosen), step)[0] - own;
    const Tensor share = torch::sigmoid(score.index_select(0, chosen)).unsqueeze(-1);
    rows.push_back(state.index_copy(0, chosen, own + change * share));
  }
  return torch::stack(rows);
}

// Attention of the queries at these positions of one row to all of its tokens. [queries, width]
Tensor DecoderBlocks::attention_of(const BlockWeights& layer, const Tensor& normed,
                                   const Tensor& positions) const {
  const int dim = sizes_.head_dim;
  const Tensor row = normed.unsqueeze(0), own = normed.index_select(0, positions).unsqueeze(0);
  const Angles all = angles(normed.size(0));
  const Tensor q =
      rotate(by_heads(product(own, layer.wq), sizes_.q_heads, dim), angles_at(positions));
  const Tensor k = rotate(by_heads(product(row, layer.wk), sizes_.kv_heads, dim), all);
  const Tensor v = by_heads(product(row, layer.wv), sizes_.kv_heads, dim);
  const Tensor mixed = causal_attention(q, k, v, sizes_.attention_scale, positions);
  return product(mixed.flatten(2), layer.wo)[0];
}

Tensor DecoderBlocks::exiting(const BlockWeights& layer, const Tensor& x, const Step& step) const {
  std::vector<Tensor> rows;
  for (std::int64_t row = 0; row < x.size(0); ++row) {
    const Tensor state = x.select(0, row).narrow(-1, 0, sizes_.width);
    const Tensor has_left = x.select(0, row).select(-1, sizes_.width).detach();
    const Tensor staying = has_left.eq(0).nonzero().flatten();
    if (staying.numel() == 0) {
      rows.push_back(x.select(0, row));
      continue;
    }
    const Tensor own = state.index_select(0, staying);
    const Tensor normed = norm(state, layer.attention_norm);
    const Tensor found = feed_forward(layer, own + attention_of(layer, normed, staying), step);
    const Tensor likeness = torch::cosine_similarity(found.detach(), own.detach(), -1);
    const Tensor leaves = likeness.ge(dynamics_.exit_likeness).to(torch::kFloat);
    rows.push_back(torch::cat({state.index_copy(0, staying, found),
                               has_left.index_copy(0, staying, leaves).unsqueeze(-1)},
                              -1));
  }
  return torch::stack(rows);
}

Tensor DecoderBlocks::entered(const Tensor& x) const {
  if (!has_exits()) return x;
  return torch::cat({x, torch::zeros({x.size(0), x.size(1), 1})}, -1);
}

Tensor DecoderBlocks::output(const Tensor& x, const Tensor& norm_weight,
                             const Tensor& weight) const {
  const Tensor state = has_exits() ? x.narrow(-1, 0, sizes_.width) : x;
  return linear(norm(state, norm_weight), weight, bf16_);
}

}  // namespace tandem::training::torch_passes
