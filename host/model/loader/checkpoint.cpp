// SPDX-License-Identifier: Apache-2.0
//
// The functions that use only the lookups of a format.
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
  view.scales = tensor.scales;
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

std::vector<TensorView> Checkpoint::experts(std::string_view name, std::uint32_t count) const {
  if (const CheckpointTensor* stacked = find_tensor(name)) {
    if (stacked->num_dims != 3 || stacked->dims[2] != count) {
      throw tensor_error(*stacked, "must hold " + std::to_string(count) + " matrices");
    }
    return expert_views(*stacked);
  }
  constexpr std::string_view kStacked = "_exps.";
  const std::size_t at = name.find(kStacked);
  std::vector<TensorView> views;
  if (at == std::string_view::npos) return views;
  const std::string before = std::string(name.substr(0, at)) + '.';
  const std::string behind = '.' + std::string(name.substr(at + kStacked.size()));
  if (find_tensor(before + "0" + behind) == nullptr) return views;
  for (std::uint32_t expert = 0; expert < count; ++expert) {
    const std::string one = before + std::to_string(expert) + behind;
    const CheckpointTensor* tensor = find_tensor(one);
    if (tensor == nullptr) throw missing_tensor_error(one);
    views.push_back(view(*tensor));
  }
  const CheckpointTensor* surplus = find_tensor(before + std::to_string(count) + behind);
  if (surplus != nullptr) {
    throw tensor_error(*surplus, "the model has " + std::to_string(count) + " experts");
  }
  return views;
}

}  // namespace tandem::model
