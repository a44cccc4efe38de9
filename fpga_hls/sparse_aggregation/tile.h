// SPDX-License-Identifier: Apache-2.0
//
// A tile of accumulators on chip, banked by a hash.
//
// Eight consecutive positions are a row. A row has one place in each of eight banks, at the row's
// address. bank_of selects the bank: the position's low bits xor a fold of the row number. So
// sorted positions spread over the banks at any stride; plain interleaving puts strides of 8 and
// their multiples into one bank. The map is its own inverse, so one permutation of eight lanes
// restores a row's order. Memory of a unit: accumulators 8 x 32,768 x 64 bits in 64 URAMs; presence
// bits 8 x 64 memories of 512 bits (LUTRAM), so that setting one is a plain write and those of 32
// rows are read at once.
#pragma once

#include "numerics.h"

namespace tandem {
namespace sparse_aggregation {

const std::uint32_t kBanks = 8;
const std::uint32_t kRowBits = 3;
const std::uint32_t kBlockRows = kBlockPositions / kBanks;
const std::uint32_t kTileRows = (1u << kMaxTileBits) / kBanks;
const std::uint32_t kTileBlocks = kTileRows / kBlockRows;

struct Tile {
  std::uint64_t values[kBanks][kTileRows];  // valid only if the presence bit is set
  bool present[kBanks][kTileBlocks][kBlockRows];
};

inline std::uint32_t fold_of(std::uint32_t row) {
#pragma HLS inline
  return (row ^ (row >> 3) ^ (row >> 6) ^ (row >> 9) ^ (row >> 12)) & (kBanks - 1);
}

// Bank of the position `offset` into its tile.
inline std::uint32_t bank_of(std::uint32_t offset) {
#pragma HLS inline
  return (offset ^ fold_of(offset >> kRowBits)) & (kBanks - 1);
}

inline void clear_presence(Tile& tile) {
clear_blocks:
  for (std::uint32_t block = 0; block < kTileBlocks; ++block) {
#pragma HLS pipeline II = 1
    for (std::uint32_t bank = 0; bank < kBanks; ++bank) {
#pragma HLS unroll
      for (std::uint32_t row = 0; row < kBlockRows; ++row) {
#pragma HLS unroll
        tile.present[bank][block][row] = false;
      }
    }
  }
}

}  // namespace sparse_aggregation
}  // namespace tandem
