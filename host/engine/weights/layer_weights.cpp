// SPDX-License-Identifier: Apache-2.0
//
// Loads every distinct tensor once.
#include "engine/weights/layer_weights.h"

#include <utility>

namespace tandem::engine {

ModelWeights::ModelWeights(const model::Model& model, device::ComputeUnit& compute,
                           const WeightOptions& options) {
  WeightLoader loader(compute, options, &model);
  for (const model::LayerTensors& tensors : model.layers()) {
    layers_.push_back(load_layer(tensors, static_cast<int>(layers_.size()), loader));
  }
  const WeightPlace whole, by_outputs{-1, device::WeightSplit::kOutputs};
  const bool tied = model.output().data == model.embedding().data;
  embedding_ = tied ? matrix(model.embedding(), loader, by_outputs, Role::kBoth)
                    : keep(model.embedding(), loader, whole, Role::kTable);
  output_norm_ = vector(model.output_norm(), loader, whole);
  output_ = matrix(model.output(), loader, by_outputs);
  loaded_ = loader.loaded();
}

LayerWeights ModelWeights::load_layer(const model::LayerTensors& t, int layer,
                                      WeightLoader& loader) {
  const WeightPlace whole{layer, device::WeightSplit::kNone};
  const WeightPlace by_outputs{layer, device::WeightSplit::kOutputs};
  const WeightPlace by_inputs{layer, device::WeightSplit::kInputs};
  LayerWeights w{};
  w.attention_norm = vector(t.attention_norm, loader, whole);
  w.wq = matrix(t.wq, loader, by_outputs);
  w.wk = matrix(t.wk, loader, by_outputs);
  w.wv = matrix(t.wv, loader, by_outputs);
  w.bq = vector(t.bq, loader, by_outputs);
  w.bk = vector(t.bk, loader, by_outputs);
  w.bv = vector(t.bv, loader, by_outputs);
  w.wo = matrix(t.wo, loader, by_inputs);
  w.bo = vector(t.bo, loader, whole);
  w.q_norm = vector(t.q_norm, loader, whole);
  w.k_norm = vector(t.k_norm, loader, whole);
  w.attention_post_norm = vector(t.attention_post_norm, loader, whole);
  w.ffn_norm = vector(t.ffn_norm, loader, whole);
  w.gate = matrix(t.gate, loader, by_outputs);
  w.up = matrix(t.up, loader, by_outputs);
  w.down = matrix(t.down, loader, by_inputs);
  w.ffn_post_norm = vector(t.ffn_post_norm, loader, whole);
  w.router = router(t.router, loader, whole);
  w.shared_gate = router(t.shared_gate, loader, whole);
  for (const model::ExpertTensors& e : t.experts) {
    w.experts.push_back({matrix(e.gate, loader, by_outputs), matrix(e.up, loader, by_outputs),
                         matrix(e.down, loader, by_inputs)});
  }
  return w;
}

const device::Weight* ModelWeights::keep(const TensorView& tensor, WeightLoader& loader,
                                         const WeightPlace& place, Role role) {
  if (!tensor) return nullptr;
  std::unique_ptr<device::Weight>& weight = by_data_[tensor.data];
  if (!weight) weight = loader.load(tensor, role, place);
  return weight.get();
}

const device::Weight* ModelWeights::vector(const TensorView& tensor, WeightLoader& loader,
                                           const WeightPlace& place) {
  return keep(tensor, loader, place, Role::kVector);
}

const device::Weight* ModelWeights::matrix(const TensorView& tensor, WeightLoader& loader,
                                           const WeightPlace& place, Role role) {
  if (!tensor) return nullptr;
  std::unique_ptr<device::Weight>& weight = by_data_[tensor.data];
  if (!weight) weight = loader.load_matrix(tensor, role, place);
  return weight.get();
}

const device::Weight* ModelWeights::router(const TensorView& tensor, WeightLoader& loader,
                                           const WeightPlace& place) {
  if (!tensor) return nullptr;
  std::unique_ptr<device::Weight>& weight = by_data_[tensor.data];
  if (!weight) weight = loader.load_router(tensor, place);
  return weight.get();
}

}  // namespace tandem::engine
