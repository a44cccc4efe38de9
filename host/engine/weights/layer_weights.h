// SPDX-License-Identifier: Apache-2.0
//
// ModelWeights: a model's tensors as the compute unit holds them.
//
// A tensor that the model uses twice (tied embedding and output) is loaded once. Matrices of
// products are quantised if the options say so. Norms, biases, routers, and an embedding table that
// is not also the output keep their type. Ownership: owns the Weights; borrows the model's memory,
// as ComputeUnit::load() does. Errors: those of WeightLoader.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "device/compute_unit.h"
#include "engine/weights/weight_loader.h"
#include "model/model.h"

namespace tandem::engine {

// Null if the family has no such tensor.
struct LayerWeights {
  const device::Weight *attention_norm, *wq, *wk, *wv, *bq, *bk, *bv, *wo, *bo;
  const device::Weight *q_norm, *k_norm, *attention_post_norm;
  const device::Weight *ffn_norm, *gate, *up, *down, *ffn_post_norm;
  const device::Weight *router, *shared_gate;
  std::vector<device::Expert> experts;
};

class ModelWeights {
 public:
  ModelWeights(const model::Model& model, device::ComputeUnit& compute,
               const WeightOptions& options = {});

  const std::vector<LayerWeights>& layers() const { return layers_; }
  const device::Weight* embedding() const { return embedding_; }
  const device::Weight* output_norm() const { return output_norm_; }
  const device::Weight* output() const { return output_; }
  const LoadedWeights& loaded() const { return loaded_; }

 private:
  using Role = device::WeightRole;
  LayerWeights load_layer(const model::LayerTensors& tensors, int layer, WeightLoader& loader);
  // Loads a tensor in the file's type. Returns null for a tensor that the model does not have.
  const device::Weight* keep(const TensorView& tensor, WeightLoader& loader,
                             const WeightPlace& place, Role role);
  // Loads a norm or a bias.
  const device::Weight* vector(const TensorView& tensor, WeightLoader& loader,
                               const WeightPlace& place);
  // Loads a matrix that products use.
  const device::Weight* matrix(const TensorView& tensor, WeightLoader& loader,
                               const WeightPlace& place, Role role = Role::kProduct);
  const device::Weight* router(const TensorView& tensor, WeightLoader& loader,
                               const WeightPlace& place);

  std::map<const std::byte*, std::unique_ptr<device::Weight>> by_data_;
  std::vector<LayerWeights> layers_;
  const device::Weight* embedding_ = nullptr;
  const device::Weight* output_norm_ = nullptr;
  const device::Weight* output_ = nullptr;
  LoadedWeights loaded_;
};

}  // namespace tandem::engine
