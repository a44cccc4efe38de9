// SPDX-License-Identifier: Apache-2.0
//
// The algorithms of merge(); merge.cpp chooses among them.
//
// All give the same bits as adding the parts' values in the order of the parts, starting with the
// first part that holds the index. Threads: any, on different outputs. Errors: std::bad_alloc.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "tensor/sparse/sparse_vector.h"

namespace tandem::sparse {

// Units of a window: its sums and presence bits stay in the L2 cache.
constexpr std::uint64_t kWindowUnits = 32768;

// The value x for which reduce(x, y) is y, bit for bit: -0.0 for a sum of floats.
template <typename T>
constexpr T neutral_of(Reduction reduction) {
  if constexpr (std::is_floating_point_v<T>) {
    if (reduction != Reduction::kMax) return T{-0.0};
  }
  return identity_of<T>(reduction);
}

// For width 1. Divides the index range into windows. In each window, adds the parts in order into
// dense sums with a presence bitmap, then packs the units that are present. Cost: two passes over
// the entries and one over the bitmaps of the non-empty windows.
SparseVector merge_by_windows(std::span<const SparseVector> parts, Reduction reduction);

// For two parts of width 1. One step per unit of the union, without branches on data.
SparseVector merge_two(const SparseVector& first, const SparseVector& second, Reduction reduction);

// For supports too sparse for windows, and for rows. Merges keys of (index, position in the
// sequence of all parts) pairwise, without branches on data, then adds rows in the order of keys.
// Cost: log2(parts) passes over the keys and one over the values.
SparseVector merge_by_keys(std::span<const SparseVector> parts, Reduction reduction);

}  // namespace tandem::sparse
