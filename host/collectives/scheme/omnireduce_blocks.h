// SPDX-License-Identifier: Apache-2.0
//
// OmniReduce's view of a tensor: blocks of 256 values, divided among aggregators and streams.
//
// Aggregator a owns an even range of consecutive blocks. Stream s of its `num_streams` takes every
// num_streams-th block of the range, starting with the s-th, so a cluster of blocks is spread over
// the streams. Even and odd streams form two halves, which are in flight alternately. A block is
// max(1, 256 / width) units; the domain's last one may be shorter. Threads: immutable.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "collectives/scheme/dense_exchange.h"

namespace tandem::collectives {

constexpr std::uint64_t kNoBlock = std::numeric_limits<std::uint64_t>::max();  // "infinity"

class BlockLayout {
 public:
  BlockLayout(Domain domain, int num_aggregators);

  Domain domain() const { return domain_; }
  int num_aggregators() const { return num_aggregators_; }
  std::uint64_t num_blocks() const { return num_blocks_; }
  std::uint64_t units_per_block() const { return units_per_block_; }
  UnitRange units_of(std::uint64_t block) const;
  std::uint64_t block_of(std::uint64_t unit) const { return unit / units_per_block_; }

  UnitRange blocks_of(int aggregator) const {
    return even_range(num_blocks_, aggregator, num_aggregators_);
  }
  int num_streams(int aggregator) const;
  int stream_of(int aggregator, std::uint64_t block) const;
  // Whether `block` may come after `current` in the stream. kNoBlock: the end, or nothing sent yet.
  bool follows(int aggregator, int stream, std::uint64_t current, std::uint64_t block) const;

  // Blocks in flight per rank: enough to cover the latency, few enough to stay in the cache.
  static int max_streams(int num_aggregators);

 private:
  Domain domain_;
  int num_aggregators_;
  std::uint64_t units_per_block_;
  std::uint64_t num_blocks_;
};

// A rank's non-zero blocks, and per stream which of them comes next.
class OwnBlocks {
 public:
  // Borrows `vector`.
  OwnBlocks(const SparseVector& vector, const BlockLayout& layout);

  std::uint64_t next(int aggregator, int stream) const;
  // Writes the stream's next block into the first units of `scratch`, fills the rest of the block
  // with the identity, and moves to the next block.
  void take(int aggregator, int stream, Reduction reduction, DenseVector& scratch);

 private:
  struct Block {
    std::uint64_t number = 0;
    std::size_t first_entry = 0;
    std::size_t next_in_stream = 0;  // position in blocks_; blocks_.size(): there is none
  };

  void link();

  const SparseVector& vector_;
  const BlockLayout& layout_;
  std::vector<Block> blocks_;
  std::vector<std::vector<std::size_t>> heads_;  // [aggregators, streams] position in blocks_
};

// Collects the reduced blocks in the order of their arrival. At the end it gives the sorted vector
// of their present units.
class ReducedBlocks {
 public:
  ReducedBlocks(const BlockLayout& layout, DType type, Reduction reduction)
      : layout_(layout), type_(type), reduction_(reduction) {}

  // Takes block `block`, which begins at unit `begin` of `values`.
  void add(std::uint64_t block, const DenseVector& values, std::uint64_t begin);
  SparseVector result();

 private:
  struct Run {
    std::uint64_t block = 0;
    std::size_t first = 0;  // index of the block's first entry
    std::size_t count = 0;
  };

  const BlockLayout& layout_;
  DType type_;
  Reduction reduction_;
  std::vector<Run> runs_;
  std::vector<std::uint64_t> units_;
  RawVector<std::byte> values_;
};

// Sets the units of `range` to the identity.
void clear_units(DenseVector& dense, UnitRange range, Reduction reduction);

// into[range] = reduce(into[range], the first units of `from`).
void reduce_units(DenseVector& into, UnitRange range, const DenseVector& from, Reduction reduction);

}  // namespace tandem::collectives
