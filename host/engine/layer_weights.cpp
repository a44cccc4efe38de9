// SPDX-License-Identifier: Apache-2.0
//
// ModelWeights: one load() per distinct tensor.
#include "engine/layer_weights.h"

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
    w.ffn_norm = keep(t.ffn_norm, loader);
    w.gate = matrix(t.gate, loader);
    w.up = matrix(t.up, loader);
    w.down = matrix(t.down, loader);
    layers_.push_back(w);
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
