// SPDX-License-Identifier: Apache-2.0
//
// The entries of a block of an adaptive partition: a range of keys of the Hilbert curve.
//
// Inside a block an index is the 16-bit distance from the block's base, as mttkrp_block.h reads it.
// Keys ascend, each at most once. Threads: plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tandem::sparse {

// Entries in the order of the curve, with whole indices.
struct CurveEntries {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> indices;  // [entries, order]
  std::vector<float> values;
  std::vector<std::uint8_t> removed;  // [entries] of a change only; 1: the entry is removed

  std::size_t size() const { return keys.size(); }
};

struct CurveBlock {
  std::uint64_t first = 0, last = 0;       // keys, the last one included
  std::vector<std::uint64_t> bases, ends;  // [order] least index, greatest + 1; no entries: 0
  std::vector<std::uint64_t> keys;         // [entries]
  std::vector<std::uint16_t> distances;    // [entries, order]
  std::vector<float> values;               // [entries]
  double kernel_seconds = 0;               // measured, a moving mean of an iteration; 0: not yet
  double change_seconds = 0;               // of changes to its entries, per iteration

  std::size_t size() const { return keys.size(); }
};

// Appends the entries [begin, end) as blocks over the keys first .. last: one block, or several if
// the indices differ by more than 16 bits.
struct KeyRange {
  std::uint64_t first = 0, last = 0;
};
void append_blocks(const CurveEntries& entries, std::size_t begin, std::size_t end, KeyRange keys,
                   std::size_t order, std::vector<CurveBlock>& to);

CurveEntries entries_of(const CurveBlock& block, std::size_t order);
void append(const CurveEntries& more, CurveEntries& to);

// The block's entries after a change: entries of [begin, end) replace those with their keys.
CurveEntries changed(const CurveEntries& old, const CurveEntries& change, std::size_t begin,
                     std::size_t end, std::size_t order);

}  // namespace tandem::sparse
