// SPDX-License-Identifier: Apache-2.0
//
// FibreTensor: the entries of a tensor along the fibres of one mode, for products with that mode.
//
// A fibre has the entries that differ in `mode` alone; it is a row of a matrix whose columns are
// the indices of `mode`. Fibres without entries are left out, except the only one of order 1.
// Fibres are sorted by class: 1, 2, 3, 4 entries, then all others. So a kernel knows the length of
// most. Inside a class they are in lexicographic order. Duplicates are summed. Cost: a radix sort.
// Threads: one caller; `pool` runs the parts. Errors: Error if there is no such mode, if it is
// longer than 2^31, or if an entry is outside the tensor. Source: semi-sparse form of Li et al.,
// "Optimizing Sparse Tensor Times Matrix on Multi-core and Many-core Architectures", IA^3 2016.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"
#include "tensor/sparse/kernels/row_matrix.h"

namespace tandem::sparse {

constexpr std::size_t kMostEqualFibres = 4;  // longest length that has a class of its own
constexpr std::size_t kFibreClasses = kMostEqualFibres + 1;

template <typename Value, typename Stored = Value>
struct FibreTensor {
  std::vector<std::uint64_t> sizes;  // [order]
  std::size_t mode = 0;
  std::vector<IndexColumn> places;  // [order - 1] of [fibres]: indices in the other modes
  RowMatrix<Value, Stored> rows;    // [fibres, sizes[mode]]
  // Class c has the fibres [bounds[c], bounds[c + 1]), of c + 1 entries; the last one all others.
  std::array<std::uint64_t, kFibreClasses + 1> bounds{};

  std::uint64_t num_fibres() const { return rows.rows; }
};

template <typename Value, typename Stored = Value>
FibreTensor<Value, Stored> fibre_tensor(CooTensor tensor, std::size_t mode, ThreadPool& pool);

// The number of entries of each fibre of a class; 0: it differs.
constexpr std::size_t fibre_length(std::size_t fibre_class) {
  return fibre_class < kMostEqualFibres ? fibre_class + 1 : 0;
}

}  // namespace tandem::sparse
