// SPDX-License-Identifier: Apache-2.0
//
// CooTensor: a sparse tensor of any order as a list of entries (coordinates and value).
//
// Modes and indices count from 0. Entries may be in any order, and may repeat a coordinate until
// sum_duplicates() (entry_order.h) has run. A stored 0 is a normal entry. Values are f64, so
// reading a file loses no precision. Plain data; threads: as a std::vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/raw_vector.h"
#include "tensor/sparse/formats/index_column.h"

namespace tandem::sparse {

// Tensors with more modes are refused.
constexpr std::size_t kMaxOrder = 32;

struct CooTensor {
  std::vector<std::uint64_t> sizes;  // [order] each at least 1
  std::vector<IndexColumn> indices;  // [order] of [num_entries]; below the mode's size
  RawVector<double> values;          // [num_entries]

  CooTensor() = default;
  // Makes a tensor without entries. Throws Error for an order of 0 or above kMaxOrder, and for a
  // size of 0.
  explicit CooTensor(std::vector<std::uint64_t> mode_sizes);

  std::size_t order() const { return sizes.size(); }
  std::size_t num_entries() const { return values.size(); }

  // The bytes of entries and coordinates in memory.
  std::size_t size_bytes() const;

  // New entries are uninitialised.
  void resize(std::size_t num_entries);

  // Appends one entry. For tests and small tensors.
  void append(std::span<const std::uint64_t> index, double value);

  bool operator==(const CooTensor& other) const;
};

// The number of cells: the product of the sizes. Exact up to 2^53; the largest double if it
// overflows.
double num_cells(std::span<const std::uint64_t> sizes);

// The number of bits for the indices of a mode of this size; 0 for a size of 1.
int index_bits(std::uint64_t size);

}  // namespace tandem::sparse
