// SPDX-License-Identifier: Apache-2.0
//
// CpuWeight: a weight used where the model file maps it.
//
// A matrix is not copied. A vector (out_features = 1: norms, biases) is kept as f32 as well.
// Threads: any, it does not change.
#pragma once

#include <span>
#include <vector>

#include "device/compute_unit.h"

namespace tandem::device::cpu {

class CpuWeight final : public Weight {
 public:
  // Throws Error when the source is empty, misshapen or of a type that is no weight.
  explicit CpuWeight(const WeightSource& source);

  std::int64_t out_features() const override { return source_.out_features; }
  std::int64_t in_features() const override { return source_.in_features; }
  std::size_t size_bytes() const override { return row_bytes_ * source_.out_features; }

  DType dtype() const { return source_.dtype; }
  std::size_t row_bytes() const { return row_bytes_; }
  const std::byte* row(std::int64_t index) const { return source_.data + index * row_bytes_; }
  std::span<const float> vector() const { return vector_; }  // empty for a matrix

 private:
  WeightSource source_;
  std::size_t row_bytes_ = 0;
  std::vector<float> vector_;
};

// What a descriptor's weight must be: made by this kind of unit, of this shape. `what` names it in
// the Error. 0 stands for any number.
const CpuWeight& cpu_weight(const Weight* weight, std::int64_t out_features,
                            std::int64_t in_features, const char* what);

}  // namespace tandem::device::cpu
