// SPDX-License-Identifier: Apache-2.0
//
// ModelWeights: a model's tensors as the compute unit holds them.
//
// A tensor that the model uses twice (tied embedding and output) is loaded once. Ownership: owns
// the Weights; borrows the model's memory, as ComputeUnit::load() does. Errors: those of load().
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "device/compute_unit.h"
#include "model/model.h"

namespace tandem::engine {

// Null where the family has no such tensor.
struct LayerWeights {
  const device::Weight *attention_norm, *wq, *wk, *wv, *bq, *bk, *bv, *wo, *bo;
  const device::Weight *ffn_norm, *gate, *up, *down;
};

class ModelWeights {
 public:
  ModelWeights(const model::Model& model, device::ComputeUnit& compute);

  const std::vector<LayerWeights>& layers() const { return layers_; }
  const device::Weight* embedding() const { return embedding_; }
  const device::Weight* output_norm() const { return output_norm_; }
  const device::Weight* output() const { return output_; }

 private:
  using Role = device::WeightRole;
  const device::Weight* load(const TensorView& tensor, device::ComputeUnit& compute,
                             Role role = Role::kProduct);

  std::map<const std::byte*, std::unique_ptr<device::Weight>> by_data_;
  std::vector<LayerWeights> layers_;
  const device::Weight* embedding_ = nullptr;
  const device::Weight* output_norm_ = nullptr;
  const device::Weight* output_ = nullptr;
};

}  // namespace tandem::engine
