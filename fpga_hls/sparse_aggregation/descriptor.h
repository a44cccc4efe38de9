// SPDX-License-Identifier: Apache-2.0
//
// Reads and checks a descriptor. No value of it becomes an address before it is checked against the
// sizes that come as scalar arguments.
//
// check_header() and load_sources() run before anything but the result header is written. Slices
// are checked on use (next_end), positions where they are distributed (accumulate.h). Sums of
// 32-bit fields use 64 bits.
#pragma once

#include "tile.h"

namespace tandem {
namespace sparse_aggregation {

using kernel_status::Verdict;
using kernel_status::verdict;

// The sources' table on chip: where the entries of each source are, how many, and how many are
// done.
struct Sources {
  std::uint32_t positions_word[kMaxSources];
  std::uint32_t values_word[kMaxSources];
  std::uint32_t num_entries[kMaxSources];
  std::uint32_t taken[kMaxSources];
};

inline DescriptorHeader read_header(const Word* descriptor) {
  const Word word = descriptor[0];
  DescriptorHeader h;
  h.magic = word[0];
  h.abi_version = word[1];
  h.num_words = word[2];
  h.value_type = word[3];
  h.reduction = word[4];
  h.format = word[5];
  h.tile_bits = word[6];
  h.num_sources = word[7];
  h.num_tiles = word[8];
  h.last_position = word[9];
  h.sources_word = word[10];
  h.tiles_word = word[11];
  h.ends_word = word[12];
  h.tag = word[13];
  return h;
}

// True when `words` words from word `begin` on are inside the descriptor.
inline bool section_fits(const DescriptorHeader& h, std::uint32_t begin, std::uint64_t words) {
#pragma HLS inline
  return begin + words <= h.num_words;
}

inline Verdict check_header(const DescriptorHeader& h, std::uint32_t descriptor_words) {
  const Verdict identity =
      kernel_status::check_identity(h.magic, h.abi_version, kMagic, kAbiVersion);
  if (identity.status != kOk) return identity;
  if (h.num_words > descriptor_words) return verdict(kBadSection, 0);
  if (h.value_type > kU64 || h.reduction > kMax || h.format > kBitmap ||
      h.tile_bits < kMinTileBits || h.tile_bits > kMaxTileBits || h.num_sources == 0 ||
      h.num_sources > kMaxSources || h.num_tiles > (h.last_position >> h.tile_bits) + 1) {
    return verdict(kBadShape, 0);
  }
  const std::uint64_t ends =
      static_cast<std::uint64_t>(h.num_tiles) * ends_row_words(h.num_sources);
  if (!section_fits(h, h.sources_word, (h.num_sources + 3) / 4) ||
      !section_fits(h, h.tiles_word, position_words(h.num_tiles)) ||
      !section_fits(h, h.ends_word, ends)) {
    return verdict(kBadSection, 0);
  }
  return verdict(kOk, 0);
}

// Reads the sources' table. On success the detail of kOk is the number of entries of all sources.
inline Verdict load_sources(const Word* descriptor, const DescriptorHeader& h, Sources& sources) {
  std::uint64_t total = 0;
load_sources:
  for (std::uint32_t s = 0; s < h.num_sources; ++s) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 1024
    const Word word = descriptor[h.sources_word + s / 4];
    const std::uint32_t lane = s % 4 * 4;
    const std::uint32_t count = word[lane + 2];
    if (count > kMaxEntries) return verdict(kBadShape, 1 + s);
    if (!section_fits(h, word[lane], position_words(count)) ||
        !section_fits(h, word[lane + 1], value_words(h.value_type, count))) {
      return verdict(kBadSection, 1 + s);
    }
    sources.positions_word[s] = word[lane];
    sources.values_word[s] = word[lane + 1];
    sources.num_entries[s] = count;
    sources.taken[s] = 0;
    total += count;
  }
  if (total > kMaxEntries) return verdict(kBadShape, 0);
  return verdict(kOk, static_cast<std::uint32_t>(total));
}

inline std::uint32_t read_tile(const Word* descriptor, const DescriptorHeader& h,
                               std::uint32_t index) {
#pragma HLS inline
  return descriptor[h.tiles_word + index / kWordPositions][index % kWordPositions];
}

// The row of a tile in the ends table.
inline void read_ends(const Word* descriptor, const DescriptorHeader& h, std::uint32_t index,
                      std::uint32_t ends[kMaxSources]) {
  const std::uint32_t words = ends_row_words(h.num_sources), first = h.ends_word + index * words;
read_ends:
  for (std::uint32_t w = 0; w < words; ++w) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 64
    const Word word = descriptor[first + w];
    for (std::uint32_t lane = 0; lane < kWordPositions; ++lane) {
#pragma HLS unroll
      ends[w * kWordPositions + lane] = word[lane];
    }
  }
}

}  // namespace sparse_aggregation
}  // namespace tandem
