// SPDX-License-Identifier: Apache-2.0
//
// Checkpoint: what follows from the lookups of a format.
#include "model/loader/checkpoint.h"

namespace tandem::model {

std::uint32_t Checkpoint::require_u32(std::string_view key) const {
  const auto value = get_u32(key);
  if (!value) throw field_error(key, "is missing");
  return *value;
}

std::string_view Checkpoint::require_string(std::string_view key) const {
  const auto value = get_string(key);
  if (!value) throw field_error(key, "is missing");
  return *value;
}

TensorView Checkpoint::view(const CheckpointTensor& tensor) const {
  if (tensor.dims[2] != 1 || tensor.dims[3] != 1) {
    throw tensor_error(tensor, "has more than two dimensions");
  }
  TensorView view;
  view.name = std::string(tensor.name);
  view.dtype = tensor.dtype;
  view.rows = static_cast<std::int64_t>(tensor.dims[1]);
  view.columns = static_cast<std::int64_t>(tensor.dims[0]);
  view.data = tensor.data;
  return view;
}

std::vector<TensorView> Checkpoint::expert_views(const CheckpointTensor& tensor) const {
  if (tensor.num_dims != 3) throw tensor_error(tensor, "has not three dimensions");
  TensorView view;
  view.name = std::string(tensor.name);
  view.dtype = tensor.dtype;
  view.rows = static_cast<std::int64_t>(tensor.dims[1]);
  view.columns = static_cast<std::int64_t>(tensor.dims[0]);
  std::vector<TensorView> views;
  for (std::uint64_t expert = 0; expert < tensor.dims[2]; ++expert) {
    view.data = tensor.data + expert * view.size_bytes();
    views.push_back(view);
  }
  return views;
}

}  // namespace tandem::model
