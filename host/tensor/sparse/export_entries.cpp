// SPDX-License-Identifier: Apache-2.0
//
// From sparse and dense sums back to the types and the memory of a user.
#include <algorithm>
#include <cstring>
#include <string>

#include "tensor/sparse/coalesce.h"
#include "tensor/sparse/wire_values.h"

namespace tandem::sparse {

void export_indices(const SparseVector& vector, bool as_u64, void* indices) {
  if (vector.num_entries() == 0) return;
  if (!as_u64 && vector.index_at(vector.num_entries() - 1) >> 32 != 0) {
    throw Error("sparse", "index " + std::to_string(vector.index_at(vector.num_entries() - 1)) +
                              " does not fit u32; use u64 indices");
  }
  visit_types(vector, [&](auto index, auto) {
    const auto from = vector.indices<decltype(index)>();
    if (as_u64) {
      std::ranges::copy(from, static_cast<std::uint64_t*>(indices));
    } else {
      std::ranges::transform(from, static_cast<std::uint32_t*>(indices),
                             [](auto unit) { return static_cast<std::uint32_t>(unit); });
    }
  });
}

void export_values(const SparseVector& vector, DType type, void* values) {
  store_wire(vector.value_bytes().data(), vector.num_entries() * vector.domain().width,
             vector.type(), type, static_cast<std::byte*>(values));
}

void scatter(const SparseVector& vector, DType type, void* dense) {
  const std::size_t row_bytes = vector.domain().width * dtype_block_bytes(type);
  auto* to = static_cast<std::byte*>(dense);
  std::memset(to, 0, vector.domain().num_units * row_bytes);
  RawVector<std::byte> rounded;
  const std::byte* from = vector.value_bytes().data();
  if (type != vector.type()) {
    rounded.resize(vector.num_entries() * row_bytes);
    export_values(vector, type, rounded.data());
    from = rounded.data();
  }
  visit_types(vector, [&](auto index, auto) {
    for (const auto unit : vector.indices<decltype(index)>()) {
      std::memcpy(to + unit * row_bytes, from, row_bytes);
      from += row_bytes;
    }
  });
}

void scatter(const DenseVector& vector, Reduction reduction, DType type, void* dense) {
  auto* to = static_cast<std::byte*>(dense);
  const std::size_t value_bytes = dtype_block_bytes(type);
  visit_type(vector.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto values = vector.values<T>();
    if (values.empty()) return;
    store_wire(reinterpret_cast<const std::byte*>(values.data()), values.size(), vector.type(),
               type, to);
    if (reduction != Reduction::kMax) return;
    const std::size_t width = vector.domain().width;
    const T absent = identity_of<T>(reduction);
    for (std::size_t at = 0; at < values.size(); at += width) {
      const auto row = values.subspan(at, width);
      if (std::ranges::all_of(row, [&](T value) { return value == absent; })) {
        std::memset(to + at * value_bytes, 0, width * value_bytes);
      }
    }
  });
}

}  // namespace tandem::sparse
