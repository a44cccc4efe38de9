// SPDX-License-Identifier: Apache-2.0
//
// Sums over a model's tensors.
#include "apps/models/bench/roofline.h"

#include <algorithm>
#include <cmath>

#include "tensor/quantize_matrix.h"

namespace tandem::apps::bench {
namespace {

// Types without dot products are multiplied as f32.
double& ops_of(device::PeakOps& ops, DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kF64:
      return ops.f32;
    case DType::kBF16:
    case DType::kF8E4M3:  // with rows of bf16
      return ops.bf16;
    default:
      return ops.int8;
  }
}

struct Counter {
  Work work;
  std::optional<DType> quantize;

  // A matrix of products, in the type that it was loaded in.
  void add_matrix(TensorView tensor, double tokens, double share = 1) {
    if (tensor && quantize) tensor.dtype = fitting_type(*quantize, tensor.dtype, tensor.columns);
    add(tensor, tokens, share);
  }

  // `share`: how much of the matrix is read; `tokens`: how many rows meet it.
  void add(const TensorView& tensor, double tokens, double share = 1) {
    if (!tensor) return;
    work.weight_bytes += share * static_cast<double>(tensor.size_bytes());
    if (tensor.rows <= 1) return;
    ops_of(work.ops, tensor.dtype) +=
        2.0 * static_cast<double>(tensor.rows) * static_cast<double>(tensor.columns) * tokens;
  }

  void add_layer(const model::LayerTensors& layer, const model::ExpertConfig& experts,
                 double tokens) {
    for (const TensorView* tensor :
         {&layer.attention_norm, &layer.bq, &layer.bk, &layer.bv, &layer.q_norm, &layer.k_norm,
          &layer.bo, &layer.ffn_norm, &layer.attention_post_norm, &layer.ffn_post_norm,
          &layer.router, &layer.shared_gate}) {
      add(*tensor, tokens);
    }
    for (const TensorView* tensor :
         {&layer.wq, &layer.wk, &layer.wv, &layer.wo, &layer.gate, &layer.up, &layer.down}) {
      add_matrix(*tensor, tokens);
    }
    if (layer.experts.empty()) return;
    const auto count = static_cast<double>(layer.experts.size());
    const double share =
        experts_touched(static_cast<int>(layer.experts.size()), experts.used, tokens) / count;
    for (const model::ExpertTensors& expert : layer.experts) {
      for (const TensorView* tensor : {&expert.gate, &expert.up, &expert.down}) {
        add_matrix(*tensor, tokens * experts.used / count, share);
      }
    }
  }
};

// Tokens that one query sees, summed over layers.
double seen_by_layers(const model::ModelConfig& config, int context) {
  double seen = 0;
  for (int layer = 0; layer < config.num_layers; ++layer) {
    const auto index = static_cast<std::size_t>(layer);
    const int window = index < config.windows.size() ? config.windows[index] : 0;
    seen += window > 0 ? std::min(window, context) : context;
  }
  return seen;
}

}  // namespace

double experts_touched(int count, int used, double tokens) {
  return count * (1 - std::pow(1 - static_cast<double>(used) / count, tokens));
}

Work work_of(const Row& row, const model::Model& model, double kv_bytes_per_token,
             std::optional<DType> quantize) {
  const model::ModelConfig& config = model.config();
  const bool decode = row.kind == RowKind::kDecode;
  Counter counter;
  counter.quantize = quantize;
  for (const model::LayerTensors& layer : model.layers()) {
    counter.add_layer(layer, config.experts, decode ? row.batch : row.tokens);
  }
  counter.add(model.output_norm(), 1);
  const double output_tokens = decode ? row.batch : 1;
  const bool is_tied = model.output().data == model.embedding().data;
  if (is_tied && quantize == DType::kF8E4M3) {
    counter.add(model.output(), output_tokens);  // a table is left as it is
  } else {
    counter.add_matrix(model.output(), output_tokens);
  }
  if (decode) {
    counter.work.kv_bytes =
        kv_bytes_per_token / config.num_layers * row.batch * seen_by_layers(config, row.tokens);
  }
  return counter.work;
}

Limit limit_of(const Work& work, const Speeds& speeds) {
  const auto arithmetic = [](double ops, double ops_per_s) {
    return ops > 0 && ops_per_s > 0 ? ops / ops_per_s : 0.0;
  };
  const double by_arithmetic = arithmetic(work.ops.f32, speeds.ops_per_s.f32) +
                               arithmetic(work.ops.bf16, speeds.ops_per_s.bf16) +
                               arithmetic(work.ops.int8, speeds.ops_per_s.int8);
  if (speeds.weight_bytes_per_s <= 0 || (work.kv_bytes > 0 && speeds.kv_bytes_per_s <= 0))
    return {};
  const double by_memory = work.weight_bytes / speeds.weight_bytes_per_s +
                           (work.kv_bytes > 0 ? work.kv_bytes / speeds.kv_bytes_per_s : 0.0);
  return {std::max(by_memory, by_arithmetic), by_memory >= by_arithmetic};
}

}  // namespace tandem::apps::bench
