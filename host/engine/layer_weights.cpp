// SPDX-License-Identifier: Apache-2.0
//
// ModelWeights: one load() per distinct tensor.
#include "engine/layer_weights.h"

#include <utility>

namespace tandem::engine {

ModelWeights::ModelWeights(const model::Model& model, device::ComputeUnit& compute,
                           const WeightOptions& options) {
  WeightLoader loader(compute, options);
  for (const model::LayerTensors& t : model.layers()) {
    LayerWeights w{};
    w.attention_norm = keep(t.attention_norm, loader);
    w.wq = matrix(t.wq, loader);
    w.wk = matrix(t.wk, loader);
    w.wv = matrix(t.wv, loader);
    w.bq = keep(t.bq, loader);
    w.bk = keep(t.bk, loader);
    w.bv = keep(t.bv, loader);
    w.wo = matrix(t.wo, loader);
    w.bo = keep(t.bo, loader);
    w.q_norm = keep(t.q_norm, loader);
    w.k_norm = keep(t.k_norm, loader);
    w.attention_post_norm = keep(t.attention_post_norm, loader);
    w.ffn_norm = keep(t.ffn_norm, loader);
    w.gate = matrix(t.gate, loader);
    w.up = matrix(t.up, loader);
    w.down = matrix(t.down, loader);
    w.ffn_post_norm = keep(t.ffn_post_norm, loader);
    w.router = keep(t.router, loader);
    w.shared_gate = keep(t.shared_gate, loader);
    for (const model::ExpertTensors& e : t.experts) {
      w.experts.push_back({matrix(e.gate, loader), matrix(e.up, loader), matrix(e.down, loader)});
    }
    layers_.push_back(std::move(w));
  }
  const bool tied = model.output().data == model.embedding().data;
  embedding_ = tied ? matrix(model.embedding(), loader, Role::kBoth)
                    : keep(model.embedding(), loader, Role::kTable);
  output_norm_ = keep(model.output_norm(), loader);
  output_ = matrix(model.output(), loader);
  loaded_ = loader.loaded();
}

const device::Weight* ModelWeights::keep(const TensorView& tensor, WeightLoader& loader,
                                         Role role) {
  if (!tensor) return nullptr;
  std::unique_ptr<device::Weight>& weight = by_data_[tensor.data];
  if (!weight) weight = loader.load(tensor, role);
  return weight.get();
}

const device::Weight* ModelWeights::matrix(const TensorView& tensor, WeightLoader& loader,
                                           Role role) {
  if (!tensor) return nullptr;
  std::unique_ptr<device::Weight>& weight = by_data_[tensor.data];
  if (!weight) weight = loader.load_matrix(tensor, role);
  return weight.get();
}

}  // namespace tandem::engine
