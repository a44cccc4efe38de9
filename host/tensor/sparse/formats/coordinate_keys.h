// SPDX-License-Identifier: Apache-2.0
//
// coordinate_keys: one 64-bit key for each entry, ordered as the coordinates in some modes are.
//
// Keys of two entries are equal where the coordinates in those modes are, and compare as these do
// lexicographically, first mode first. Where the modes' bits do not fit 64 together, the key of
// the first modes is replaced by its rank among the entries, so any order and any sizes work.
// Cost: a pass for each mode; a sort for each ranking. Threads: one caller; `pool` runs the parts.
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
  RawVector<std::uint64_t> keys;  // one for each of the entries that were asked for
  int bits = 0;                   // all keys are below 2^bits
};

// Of all entries. `modes`: which ones, in the order of comparison.
CoordinateKeys coordinate_keys(const CooTensor& tensor, std::span<const std::size_t> modes,
                               ThreadPool& pool);

// Of the entries at `positions` only.
CoordinateKeys coordinate_keys_at(const CooTensor& tensor, std::span<const std::size_t> modes,
                                  std::span<const std::uint64_t> positions, ThreadPool& pool);

// The modes 0 .. order - 1 without those of `left_out`.
std::vector<std::size_t> modes_without(std::size_t order, std::span<const std::size_t> left_out);

}  // namespace tandem::sparse
