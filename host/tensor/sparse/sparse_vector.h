// SPDX-License-Identifier: Apache-2.0
//
// SparseVector: the library's working form of a sparse tensor: sorted unique unit indices, and a
// row of values for each.
//
// A tensor is a sequence of `num_units` units of `width` values each. Element-sparse: width 1;
// row-sparse: a unit is a row; block-sparse: a unit is a block. Indices are u32, or u64 where
// num_units exceeds 2^32 ("wide"). Values are of the accumulation type: f32 (for f32, f16 and bf16
// tensors), f64 or u64. DenseVector is its dense counterpart: absent units hold the reduction's
// identity.
// Threads: as a std::vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "common/error.h"
#include "common/raw_vector.h"
#include "tensor/dtype.h"

namespace tandem::sparse {

enum class Reduction : std::uint8_t {
  kSum,
  kMean,  // a sum, divided by the number of ranks at the end
  kMax,   // over the ranks that hold the unit; NaN wins
};

struct Domain {
  std::uint64_t num_units = 0;
  std::uint32_t width = 1;

  bool wide() const { return num_units > (std::uint64_t{1} << 32); }
  bool operator==(const Domain&) const = default;
};

// f32 for f32, f16 and bf16; f64 and u64 for themselves. Throws Error for other types.
DType accumulation_type(DType values);

class SparseVector {
 public:
  SparseVector() = default;
  SparseVector(Domain domain, DType type);  // no entries; `type`: f32, f64 or u64

  const Domain& domain() const { return domain_; }
  DType type() const { return type_; }
  bool wide() const { return domain_.wide(); }
  std::size_t num_entries() const { return num_entries_; }

  // Keeps the first entries; new ones are uninitialised.
  void resize(std::size_t num_entries);

  // I: std::uint32_t, or std::uint64_t when wide. [num_entries]
  template <typename I>
  std::span<I> indices() {
    TANDEM_CHECK_OP(sizeof(I), ==, wide() ? 8u : 4u);
    return {reinterpret_cast<I*>(indices_.data()), num_entries_};
  }
  template <typename I>
  std::span<const I> indices() const {
    return const_cast<SparseVector*>(this)->indices<I>();
  }

  // T: float, double or std::uint64_t, as type() says. [num_entries, width]
  template <typename T>
  std::span<T> values() {
    TANDEM_CHECK_OP(sizeof(T), ==, dtype_block_bytes(type_));
    return {reinterpret_cast<T*>(values_.data()), num_entries_ * domain_.width};
  }
  template <typename T>
  std::span<const T> values() const {
    return const_cast<SparseVector*>(this)->values<T>();
  }

  std::size_t row_bytes() const { return domain_.width * dtype_block_bytes(type_); }
  std::span<const std::byte> value_bytes() const {
    return {values_.data(), num_entries_ * row_bytes()};
  }
  std::uint64_t index_at(std::size_t entry) const;

 private:
  Domain domain_;
  DType type_ = DType::kF32;
  std::size_t num_entries_ = 0;
  RawVector<std::byte> indices_;
  RawVector<std::byte> values_;
};

class DenseVector {
 public:
  DenseVector() = default;
  // Every value is `reduction`'s identity: 0 for sum and mean; for max the least value of the type
  // (-infinity, or 0 for u64).
  DenseVector(Domain domain, DType type, Reduction reduction);

  const Domain& domain() const { return domain_; }
  DType type() const { return type_; }

  template <typename T>
  std::span<T> values() {  // [num_units, width]
    TANDEM_CHECK_OP(sizeof(T), ==, dtype_block_bytes(type_));
    return {reinterpret_cast<T*>(values_.data()), domain_.num_units * domain_.width};
  }
  template <typename T>
  std::span<const T> values() const {
    return const_cast<DenseVector*>(this)->values<T>();
  }

 private:
  Domain domain_;
  DType type_ = DType::kF32;
  RawVector<std::byte> values_;
};

// Calls body with a value of the accumulation type: visit_type(type, [&](auto zero) { using T =
// decltype(zero); ... }).
template <typename Body>
decltype(auto) visit_type(DType type, Body&& body) {
  switch (type) {
    case DType::kF32:
      return body(float{});
    case DType::kF64:
      return body(double{});
    default:
      TANDEM_CHECK(type == DType::kU64);
      return body(std::uint64_t{});
  }
}

// Calls body(I{}, T{}) for the vector's index and value types.
template <typename Body>
decltype(auto) visit_types(const SparseVector& vector, Body&& body) {
  return visit_type(vector.type(), [&](auto value) -> decltype(auto) {
    if (vector.wide()) return body(std::uint64_t{}, value);
    return body(std::uint32_t{}, value);
  });
}

// The identity of `reduction` for T, and one step of it. Max: NaN wins over every number.
template <typename T>
constexpr T identity_of(Reduction reduction) {
  if (reduction != Reduction::kMax) return T{0};
  if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}
template <typename T>
constexpr T reduce_values(Reduction reduction, T sum, T value) {
  if (reduction != Reduction::kMax) return sum + value;
  return value > sum || value != value ? value : sum;
}

}  // namespace tandem::sparse
