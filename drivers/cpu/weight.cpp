// SPDX-License-Identifier: Apache-2.0
//
// CpuWeight: the checks of a WeightSource, and of weights in descriptors.
#include "cpu/weight.h"

#include <string>

#include "common/error.h"

namespace tandem::device::cpu {
namespace {

std::string shape(std::int64_t out, std::int64_t in) {
  return "[" + std::to_string(out) + ", " + std::to_string(in) + "]";
}

// What the matrix products read (kernels/weights-inl.h).
bool multiplies(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kQ8_0 || dtype == DType::kQ4_0;
}

}  // namespace

CpuWeight::CpuWeight(const WeightSource& source) : source_(source) {
  if (source.data == nullptr || source.out_features <= 0 || source.in_features <= 0) {
    throw Error("cpu", "a weight of shape " + shape(source.out_features, source.in_features) +
                           (source.data == nullptr ? " has no data" : " is empty"));
  }
  if (!multiplies(source.dtype)) {
    throw Error("cpu", "weights of type " + std::string(dtype_name(source.dtype)) +
                           " cannot be multiplied here; use f32, f16, bf16, q8_0 or q4_0");
  }
  if (source.in_features % dtype_block_values(source.dtype) != 0) {
    throw Error("cpu", "rows of " + std::to_string(source.in_features) +
                           " values do not divide into blocks of " +
                           std::string(dtype_name(source.dtype)));
  }
  row_bytes_ = dtype_row_bytes(source.dtype, source.in_features);
  if (source.out_features == 1) {
    vector_.resize(source.in_features);
    dequantize_row(source.dtype, source.data, vector_.data(), vector_.size());
  }
}

const CpuWeight& cpu_weight(const Weight* weight, std::int64_t out_features,
                            std::int64_t in_features, const char* what) {
  const auto* mine = dynamic_cast<const CpuWeight*>(weight);
  if (mine == nullptr) {
    throw Error("cpu", std::string(what) + " is missing or was loaded by another unit");
  }
  if ((out_features != 0 && mine->out_features() != out_features) ||
      (in_features != 0 && mine->in_features() != in_features)) {
    throw Error("cpu", std::string(what) + " has shape " +
                           shape(mine->out_features(), mine->in_features()) + " where " +
                           shape(out_features, in_features) + " is needed (0: any)");
  }
  return *mine;
}

}  // namespace tandem::device::cpu
