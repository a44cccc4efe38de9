// SPDX-License-Identifier: Apache-2.0
//
// CpuWeight: a weight in the form that the CPU multiplies.
//
// A matrix for products of quantised values, bf16 or e4m3 is packed once (packed_weight.h). Tables,
// and f16 and f32 matrices, are used in the mapped model file, or copied if the source is
// transient. A float matrix with many zeros is kept without them (sparse_weight.h), if that is
// faster. A vector (out_features = 1) is also kept as f32; a vector only for norms and biases
// (kVector) is kept only as f32. Threads: any; it is constant.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cpu/packed_weight.h"
#include "cpu/sparse_choice.h"
#include "cpu/sparse_weight.h"
#include "cpu/team.h"
#include "device/compute_unit.h"

namespace tandem::device::cpu {

class CpuWeight final : public Weight {
 public:
  // Throws Error if the source is empty, has a wrong shape, or a type that no weight has. `sparse`
  // says whether zeros are left out; null: never.
  CpuWeight(const WeightSource& source, Team& team, SparseChoice* sparse = nullptr);

  std::int64_t out_features() const override { return source_.out_features; }
  std::int64_t in_features() const override { return source_.in_features; }
  // What a product reads.
  std::size_t size_bytes() const override {
    return sparse_ ? sparse_->size_bytes() : row_bytes_ * source_.out_features;
  }
  bool borrows_source() const override {
    return has_rows() && !copy_ && !(holds_products() && source_.role == WeightRole::kProduct);
  }

  DType dtype() const { return source_.dtype; }
  std::size_t row_bytes() const { return row_bytes_; }
  bool has_rows() const {
    return source_.data != nullptr;
  }  // whether the rows are available as the file stores them
  const std::byte* row(std::int64_t index) const { return source_.data + index * row_bytes_; }
  // False for a table of a type that is packed for products, and for a vector only.
  bool multiplies() const {
    return holds_products() || (has_rows() && !packs_for_products(source_.dtype));
  }
  std::int64_t scale_inputs() const { return scale_inputs_; }  // e4m3: inputs per scale
  const PackedWeight* packed() const { return packed_ ? &*packed_ : nullptr; }
  const SparseWeight* sparse() const { return sparse_ ? &*sparse_ : nullptr; }
  // The node of each panel, or of each row of a copy; null if the model file is mapped.
  const tiling::Regions<1>* regions() const {
    return packed_        ? &packed_->regions()
           : sparse_      ? &sparse_->regions()
           : copied_rows_ ? &*copied_rows_
                          : nullptr;
  }
  std::span<const float> vector() const { return vector_; }  // empty for a matrix

 private:
  bool holds_products() const { return packed_.has_value() || sparse_.has_value(); }
  void copy_rows(Team& team);

  WeightSource source_;
  std::size_t row_bytes_ = 0;
  std::int64_t scale_inputs_ = 0;
  std::optional<PackedWeight> packed_;
  std::optional<SparseWeight> sparse_;
  std::optional<Mapping> copy_;
  std::optional<tiling::Regions<1>> copied_rows_;
  std::vector<float> vector_;
};

// The weight of an operation as a CpuWeight. Throws Error, naming it `what`, if another kind of
// unit made it or its shape differs (0: any size).
const CpuWeight& cpu_weight(const Weight* weight, std::int64_t out_features,
                            std::int64_t in_features, const char* what);

}  // namespace tandem::device::cpu
