// SPDX-License-Identifier: Apache-2.0
//
// BlockPartition: the entries of a tensor in blocks along the Morton curve, each small in space.
//
// A block is a run of entries on the curve, so every entry is in exactly one block. The first block
// is the whole tensor. A block is split in the middle of its part of the curve while it has more
// than kMostBlockEntries entries, or spans more than 16 bits in a mode. Then small neighbouring
// blocks are merged while the result stays below both limits. Dense areas therefore have small
// blocks, sparse areas large ones. Inside a block an index is the 16-bit distance from the block's
// base: an entry of order 3 takes 6 bytes and its value. Cost: a key and a position in a radix sort
// per entry. Threads: one caller; `pool` runs the parts. Errors: Error if the modes have more than
// 64 index bits together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/raw_vector.h"
#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

constexpr std::size_t kMostBlockEntries = 4096;

template <typename Value>
struct BlockPartition {
  std::vector<std::uint64_t> sizes;    // [order]
  std::vector<std::size_t> begins;     // [num_blocks + 1] first entry of each block
  std::vector<std::uint64_t> bases;    // [num_blocks, order] smallest index of each mode
  std::vector<std::uint64_t> ends;     // [num_blocks, order] greatest index + 1
  RawVector<std::uint16_t> distances;  // [num_entries, order] from the base
  RawVector<Value> values;             // [num_entries]

  std::size_t order() const { return sizes.size(); }
  std::size_t num_blocks() const { return begins.size() - 1; }
  std::size_t size_bytes() const {
    return begins.size() * 8 + bases.size() * 16 + distances.size() * 2 +
           values.size() * sizeof(Value);
  }
};

// Duplicates stay. Value: float or double.
template <typename Value>
BlockPartition<Value> partition_blocks(const CooTensor& tensor, ThreadPool& pool);

extern template BlockPartition<float> partition_blocks(const CooTensor&, ThreadPool&);
extern template BlockPartition<double> partition_blocks(const CooTensor&, ThreadPool&);

}  // namespace tandem::sparse
