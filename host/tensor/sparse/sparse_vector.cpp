// SPDX-License-Identifier: Apache-2.0
//
// Storage as raw bytes, so that one class serves all index and value types.
#include "tensor/sparse/sparse_vector.h"

#include <algorithm>
#include <string>

#include "common/huge_pages.h"

namespace tandem::sparse {

DType accumulation_type(DType values) {
  switch (values) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return DType::kF32;
    case DType::kF64:
    case DType::kU64:
      return values;
    default:
      throw Error("sparse", "values of type " + std::string(dtype_name(values)) +
                                " cannot be reduced; use f32, f16, bf16, f64 or u64");
  }
}

SparseVector::SparseVector(Domain domain, DType type) : domain_(domain), type_(type) {
  TANDEM_CHECK(accumulation_type(type) == type);
  TANDEM_CHECK_OP(domain.width, >, 0u);
}

void SparseVector::resize(std::size_t num_entries) {
  num_entries_ = num_entries;
  const bool grows = num_entries * row_bytes() > values_.capacity();
  indices_.resize(num_entries * (wide() ? 8 : 4));
  values_.resize(num_entries * row_bytes());
  if (grows) {
    advise_huge_pages(indices_.data(), indices_.capacity());
    advise_huge_pages(values_.data(), values_.capacity());
  }
}

std::uint64_t SparseVector::index_at(std::size_t entry) const {
  TANDEM_CHECK_OP(entry, <, num_entries_);
  return wide() ? indices<std::uint64_t>()[entry] : indices<std::uint32_t>()[entry];
}

DenseVector::DenseVector(Domain domain, DType type, Reduction reduction)
    : domain_(domain), type_(type) {
  TANDEM_CHECK(accumulation_type(type) == type);
  values_.resize(domain.num_units * domain.width * dtype_block_bytes(type));
  visit_type(type, [&](auto zero) {
    using T = decltype(zero);
    const auto all = values<T>();
    std::fill(all.begin(), all.end(), identity_of<T>(reduction));
  });
}

}  // namespace tandem::sparse
