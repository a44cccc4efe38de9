// SPDX-License-Identifier: Apache-2.0
//
// Random tensors for tests of sparse formats, and their entries as plain maps.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse::test {

using Index = std::vector<std::uint64_t>;

inline Index index_of_entry(const CooTensor& tensor, std::size_t entry) {
  Index index;
  for (const IndexColumn& column : tensor.indices) index.push_back(column[entry]);
  return index;
}

// Sums duplicates in the order of the entries.
inline std::map<Index, double> entries_of(const CooTensor& tensor) {
  std::map<Index, double> entries;
  for (std::size_t entry = 0; entry < tensor.num_entries(); ++entry) {
    entries[index_of_entry(tensor, entry)] += tensor.values[entry];
  }
  return entries;
}

// In no order; small tensors get duplicates.
inline CooTensor random_tensor(const std::vector<std::uint64_t>& sizes, std::size_t num_entries,
                               unsigned seed) {
  std::mt19937_64 engine(seed);
  CooTensor tensor(sizes);
  for (std::size_t entry = 0; entry < num_entries; ++entry) {
    Index index;
    for (const std::uint64_t size : sizes) index.push_back(engine() % size);
    tensor.append(index, static_cast<double>(engine() % 1999) / 7 - 100);
  }
  return tensor;
}

}  // namespace tandem::sparse::test
