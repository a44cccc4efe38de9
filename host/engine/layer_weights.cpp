// SPDX-License-Identifier: Apache-2.0
//
// ModelWeights: one load() per distinct tensor.
#include "engine/layer_weights.h"

namespace tandem::engine {

ModelWeights::ModelWeights(const model::Model& model, device::ComputeUnit& compute) {
  for (const model::LayerTensors& t : model.layers()) {
    LayerWeights w{};
    w.attention_norm = load(t.attention_norm, compute);
    w.wq = load(t.wq, compute);
    w.wk = load(t.wk, compute);
    w.wv = load(t.wv, compute);
    w.bq = load(t.bq, compute);
    w.bk = load(t.bk, compute);
    w.bv = load(t.bv, compute);
    w.wo = load(t.wo, compute);
    w.bo = load(t.bo, compute);
    w.ffn_norm = load(t.ffn_norm, compute);
    w.gate = load(t.gate, compute);
    w.up = load(t.up, compute);
    w.down = load(t.down, compute);
    layers_.push_back(w);
  }
  const bool tied = model.output().data == model.embedding().data;
  embedding_ = load(model.embedding(), compute, tied ? Role::kBoth : Role::kTable);
  output_norm_ = load(model.output_norm(), compute);
  output_ = load(model.output(), compute);
}

const device::Weight* ModelWeights::load(const TensorView& tensor, device::ComputeUnit& compute,
                                         Role role) {
  if (!tensor) return nullptr;
  std::unique_ptr<device::Weight>& weight = by_data_[tensor.data];
  if (!weight) {
    weight = compute.load({tensor.dtype, tensor.rows, tensor.columns, tensor.data, role});
  }
  return weight.get();
}

}  // namespace tandem::engine
