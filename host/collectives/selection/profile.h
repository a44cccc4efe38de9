// SPDX-License-Identifier: Apache-2.0
//
// Profile: a summary of one rank's support, and the statistics from those of all ranks.
//
// Exact: entries and touched blocks of 256 values, in total and per even range. Estimated: the
// unions of any k ranks, from sketches of units and of blocks. A sketch has the kSketchSize units
// with the smallest hashes (bottom-k, "KMV"). Below the smallest of the ranks' largest hashes, all
// holders of a unit are known, which gives the number of units that exactly m ranks hold. Supports
// of up to kSketchSize entries are exact; above, the standard error is about 1 / sqrt(kSketchSize)
// = 3 %. On the wire: 16 + 8 world + 4 per hash bytes; parse() rejects malformed bytes. Cost: one
// hash per entry. Threads: plain data. Source: Beyer et al., "On synopses for distinct-value
// estimation under multiset operations", SIGMOD 2007.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/frames/vocabulary.h"
#include "collectives/scheme/problem.h"

namespace tandem::collectives {

constexpr std::size_t kSketchSize = 1024;

struct SupportSketch {
  std::uint64_t num_present = 0;      // units, or blocks
  std::vector<std::uint32_t> hashes;  // min(num_present, kSketchSize), ascending; ties may repeat
};

struct RankProfile {
  SupportSketch units;
  SupportSketch blocks;
  std::vector<std::uint32_t> unit_ranges;   // [world] entries per even range of the units
  std::vector<std::uint32_t> block_ranges;  // [world] blocks per even range of the blocks

  void append_to(ByteBuffer& bytes) const;
  // Reads a profile from the front of `bytes` and advances `bytes`. Throws Error saying what is
  // wrong.
  static RankProfile parse(std::span<const std::byte>& bytes, int world);
};

RankProfile profile_support(const SparseVector& own, int world);

// Fills union_entries, union_blocks and the imbalances; problem.world = profiles.size() and
// problem.domain are set. profiles: of all ranks, in rank order.
void fill_from_profiles(Problem& problem, std::span<const RankProfile> profiles);

}  // namespace tandem::collectives
