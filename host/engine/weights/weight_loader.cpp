// SPDX-License-Identifier: Apache-2.0
//
// Quantises and loads one matrix at a time.
#include "engine/weights/weight_loader.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "common/error.h"
#include "tensor/f8_codes.h"
#include "tensor/quantize.h"
#include "tensor/quantize_matrix.h"

namespace tandem::engine {

DType LoadedWeights::main_type() const {
  const auto most =
      std::max_element(values.begin(), values.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == values.end() ? DType::kF32 : most->first;
}

WeightLoader::WeightLoader(device::ComputeUnit& compute, const WeightOptions& options,
                           const model::Model* model)
    : compute_(compute),
      model_(model),
      quantize_(options.quantize),
      num_threads_(options.num_threads) {
  if (!quantize_) return;
  const bool is_float = *quantize_ == DType::kF32 || *quantize_ == DType::kF8E4M3;
  if (!is_float && !can_quantize(*quantize_)) {
    throw Error("engine", "weights cannot be quantised to " + std::string(dtype_name(*quantize_)));
  }
  pool_ = std::make_unique<ThreadPool>(num_threads_);
}

void WeightLoader::check(const TensorView& tensor) {
  if (tensor.dtype != DType::kF8E4M3) return;
  if (!pool_) pool_ = std::make_unique<ThreadPool>(num_threads_);
  check_f8_codes(tensor, *pool_);
}

std::unique_ptr<device::Weight> WeightLoader::load_as(const TensorView& tensor,
                                                      device::WeightRole role,
                                                      const WeightPlace& place, bool transient) {
  loaded_.bytes += tensor.size_bytes();
  loaded_.values[tensor.dtype] += static_cast<std::uint64_t>(tensor.rows * tensor.columns);
  return compute_.load({tensor.dtype, tensor.rows, tensor.columns, tensor.data, role, transient,
                        place.layer, place.split, tensor.scales});
}

std::unique_ptr<device::Weight> WeightLoader::load(const TensorView& tensor,
                                                   device::WeightRole role,
                                                   const WeightPlace& place) {
  check(tensor);
  std::unique_ptr<device::Weight> weight = load_as(tensor, role, place, false);
  if (model_ != nullptr && !weight->borrows_source()) model_->release(tensor);
  return weight;
}

std::unique_ptr<device::Weight> WeightLoader::load_router(const TensorView& tensor,
                                                          const WeightPlace& place) {
  const auto role = device::WeightRole::kProduct;
  return quantize_ == DType::kF32 ? load_matrix(tensor, role, place) : load(tensor, role, place);
}

DType WeightLoader::type_for(const TensorView& tensor, device::WeightRole role) const {
  if (!quantize_) return tensor.dtype;
  if (*quantize_ == DType::kF8E4M3 && role != device::WeightRole::kProduct) return tensor.dtype;
  if (*quantize_ != DType::kF32) return fitting_type(*quantize_, tensor.dtype, tensor.columns);
  return DType::kF32;
}

void WeightLoader::convert(const TensorView& tensor, DType type, std::byte* data,
                           float* scales) const {
  if (type == DType::kF8E4M3) return quantize_matrix_to_f8(tensor, data, scales, *pool_);
  if (type != DType::kF32) return quantize_matrix(tensor, type, data, *pool_);
  auto* to = reinterpret_cast<float*>(data);
  pool_->run(static_cast<std::size_t>(tensor.rows), [&](std::size_t row) {
    const auto index = static_cast<std::int64_t>(row);
    dequantize_row(tensor, index, to + index * tensor.columns);
  });
}

std::unique_ptr<device::Weight> WeightLoader::load_matrix(const TensorView& tensor,
                                                          device::WeightRole role,
                                                          const WeightPlace& place) {
  const DType type = type_for(tensor, role);
  if (type == tensor.dtype) return load(tensor, role, place);
  check(tensor);
  const auto start = std::chrono::steady_clock::now();
  TensorView quantised = tensor;
  quantised.dtype = type;
  std::vector<std::byte> data(quantised.size_bytes());
  std::vector<float> scales(type == DType::kF8E4M3 ? static_cast<std::size_t>(tensor.rows)
                                                   : std::size_t{0});
  convert(tensor, type, data.data(), scales.data());
  quantised.scales = {scales.empty() ? nullptr : scales.data(), 1, tensor.columns};
  if (model_ != nullptr) model_->release(tensor);
  loaded_.quantise_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ++loaded_.quantised;
  loaded_.quantised_from_bytes += tensor.size_bytes();
  loaded_.quantised_to_bytes += data.size();
  quantised.data = data.data();
  return load_as(quantised, role, place, true);
}

}  // namespace tandem::engine
