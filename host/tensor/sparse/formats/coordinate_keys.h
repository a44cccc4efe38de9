// SPDX-License-Identifier: Apache-2.0
//
// coordinate_keys: one 64-bit key per entry, with the same order as the coordinates in some modes.
//
// Two entries have equal keys if their coordinates in those modes are equal. Otherwise the keys
// compare like the coordinates, lexicographically, first mode first. If the bits of the modes do
// not fit into 64, the key of the first modes is replaced by its rank among the entries, so any
// order and any sizes work. Cost: a pass for each mode; a sort for each ranking. Threads: one
// caller; `pool` runs the parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/raw_vector.h"
#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

struct CoordinateKeys {
  RawVector<std::uint64_t> keys;  // one per requested entry
  int bits = 0;                   // all keys are below 2^bits
};

// The keys of all entries. `modes`: which ones, in the order of comparison.
CoordinateKeys coordinate_keys(const CooTensor& tensor, std::span<const std::size_t> modes,
                               ThreadPool& pool);

// The keys of the entries at `positions`.
CoordinateKeys coordinate_keys_at(const CooTensor& tensor, std::span<const std::size_t> modes,
                                  std::span<const std::uint64_t> positions, ThreadPool& pool);

// The modes 0 .. order - 1, except those in `left_out`.
std::vector<std::size_t> modes_without(std::size_t order, std::span<const std::size_t> left_out);

}  // namespace tandem::sparse
