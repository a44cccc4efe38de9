// SPDX-License-Identifier: Apache-2.0
//
// The stages that add entries to the tile: load, distribute, one accumulator per bank.
//
// load_words (positions) and load_words (values) feed distribute; distribute feeds 8 x 8 FIFOs, one
// per (bank, lane); they feed update_bank x 8. II = 1 without forwarding: inside a source positions
// are unique (distribute checks that they ascend), and fences separate sources. FIFOs of a unit: 64
// of 256 updates of 80 bits (192 BRAM18), 2 of 256 words.
#pragma once

#include "hls_stream.h"
#include "tile.h"

namespace tandem {
namespace sparse_aggregation {

const std::uint32_t kLanes = 8;
const std::uint32_t kRunGroups = 256;  // groups of eight entries, and fences, of one run
const std::uint32_t kRunPieces = 64;
static_assert(kLanes == kBanks, "a dense row goes to all banks at once");

// Entries [begin, end) of one source, all of one tile.
struct Piece {
  std::uint32_t positions_word;
  std::uint32_t values_word;
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t source;
  bool opens;  // whether this is the first piece of its source in its tile
};

struct TileRange {
  std::uint32_t first;  // first position of the tile
  // offset of the last position of the tile, or of the partition if it ends in the tile
  std::uint32_t last_offset;
};

struct Arithmetic {
  std::uint32_t value_type;
  std::uint32_t reduction;
};

struct Update {
  std::uint64_t value;
  std::uint16_t row;
  bool fence;
};

// The state of distribute between runs.
struct Order {
  std::uint32_t previous;    // position of the previous entry
  std::uint32_t bad_source;  // 1 + the first source with a bad position; 0: none
};

typedef hls::stream<Word, kRunGroups> WordStream;
typedef hls::stream<Update, kRunGroups> UpdateStream;

inline std::uint32_t groups_of(const Piece& piece) {
#pragma HLS inline
  return (piece.end - 1) / kLanes - piece.begin / kLanes + 1;
}

// The words that hold entries [begin, end) of each piece; returns how many. per_word: entries.
inline std::uint32_t load_words(const Word* input, const Piece pieces[kRunPieces],
                                std::uint32_t num_pieces, bool values, std::uint32_t per_word,
                                WordStream& words) {
  std::uint32_t count = 0;
load_pieces:
  for (std::uint32_t i = 0; i < num_pieces; ++i) {
#pragma HLS loop_tripcount min = 1 max = 64
    const std::uint32_t base = values ? pieces[i].values_word : pieces[i].positions_word;
    const std::uint32_t first = pieces[i].begin / per_word;
    const std::uint32_t last = (pieces[i].end - 1) / per_word;
  load_piece:
    for (std::uint32_t word = first; word <= last; ++word) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 256
      words.write(input[base + word]);
    }
    count += last - first + 1;
  }
  return count;
}

inline std::uint64_t value_lane(const Word& word, std::uint32_t value_type, std::uint32_t half,
                                std::uint32_t lane) {
#pragma HLS inline
  if (value_type == kU64) {
    return word[2 * lane] | (static_cast<std::uint64_t>(word[2 * lane + 1]) << 32);
  }
  return word[half * kLanes + lane];
}

inline void send_fences(UpdateStream lanes[kBanks][kLanes]) {
#pragma HLS inline
  Update fence;
  fence.value = 0;
  fence.row = 0;
  fence.fence = true;
  for (std::uint32_t bank = 0; bank < kBanks; ++bank) {
#pragma HLS unroll
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
      lanes[bank][lane].write(fence);
    }
  }
}

// Sends a group's entries to their banks. Returns false when an entry is outside the tile (nothing
// is sent then), or does not ascend.
inline bool send_group(const Word& positions, const Word& values, const Piece& piece,
                       std::uint32_t group, TileRange range, std::uint32_t value_type,
                       bool first_known, std::uint32_t* previous,
                       UpdateStream lanes[kBanks][kLanes]) {
#pragma HLS inline
  bool good = true;
  const std::uint32_t half = group & 1u;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
    const std::uint32_t entry = group * kLanes + lane;
    if (entry < piece.begin || entry >= piece.end) continue;
    const std::uint32_t position = positions[half * kLanes + lane];
    const std::uint32_t offset = position - range.first;
    const bool inside = position >= range.first && offset <= range.last_offset;
    const bool opens = !first_known && entry == piece.begin;
    good = good && inside && (opens || position > *previous);
    *previous = position;
    if (!inside) continue;
    Update update;
    update.value = value_lane(values, value_type, half, lane);
    update.row = static_cast<std::uint16_t>(offset >> kRowBits);
    update.fence = false;
    lanes[bank_of(offset)][lane].write(update);
  }
  return good;
}

// Distributes the entries of a run over the banks. Returns the cycles that this takes.
inline std::uint32_t distribute(WordStream& position_words, WordStream& value_words,
                                const Piece pieces[kRunPieces], std::uint32_t num_pieces,
                                TileRange range, std::uint32_t value_type, Order& order,
                                UpdateStream lanes[kBanks][kLanes]) {
  std::uint32_t cycles = 0;
  Word positions(0), values(0);
distribute_pieces:
  for (std::uint32_t i = 0; i < num_pieces; ++i) {
#pragma HLS loop_tripcount min = 1 max = 64
    const Piece piece = pieces[i];
    const std::uint32_t first = piece.begin / kLanes;
    const std::uint32_t groups = groups_of(piece);
  distribute_groups:
    for (std::uint32_t g = 0; g < groups; ++g) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 255
      const std::uint32_t group = first + g;
      const bool new_word = g == 0 || (group & 1u) == 0;
      if (new_word) positions = position_words.read();
      if (new_word || value_type == kU64) values = value_words.read();
      const bool good = send_group(positions, values, piece, group, range, value_type,
                                   !piece.opens || g > 0, &order.previous, lanes);
      if (!good && order.bad_source == 0) order.bad_source = piece.source + 1;
    }
    send_fences(lanes);
    cycles += groups + 1;
  }
  return cycles;
}

// Does one bank's updates of a run. Returns the cycles that this takes.
// Takes one update a cycle, from any lane that has one. Hazard: an update reads, adds and writes in
// about kDrainCycles. Between sources every lane sends a fence, and a bank drains its pipeline
// before it takes the next source. The fence also keeps the order of additions, source after
// source.
inline std::uint32_t update_bank(UpdateStream lanes[kLanes], std::uint32_t num_pieces,
                                 Arithmetic how, std::uint64_t values[kTileRows],
                                 bool present[kTileBlocks][kBlockRows]) {
  std::uint32_t cycles = 0;
bank_pieces:
  for (std::uint32_t i = 0; i < num_pieces; ++i) {
#pragma HLS loop_tripcount min = 1 max = 64
    std::uint32_t fenced = 0;  // a bit per lane
    std::uint32_t next = 0;
  bank_updates:
    while (fenced != (1u << kLanes) - 1) {
#pragma HLS pipeline II = 1
#pragma HLS dependence variable = values type = inter false
#pragma HLS dependence variable = present type = inter false
      std::uint32_t chosen = kLanes;
      for (std::uint32_t step = 0; step < kLanes; ++step) {
#pragma HLS unroll
        const std::uint32_t lane = (next + step) % kLanes;
        if (chosen == kLanes && ((fenced >> lane) & 1u) == 0 && !lanes[lane].empty()) chosen = lane;
      }
      ++cycles;
      if (chosen == kLanes) continue;
      next = chosen + 1;
      const Update update = lanes[chosen].read();
      if (update.fence) {
        fenced |= 1u << chosen;
        continue;
      }
      bool& there = present[update.row / kBlockRows][update.row % kBlockRows];
      values[update.row] =
          there ? reduce(how.value_type, how.reduction, values[update.row], update.value)
                : update.value;
      there = true;
    }
    cycles += kDrainCycles;
  }
  return cycles;
}

inline std::uint32_t larger(std::uint32_t a, std::uint32_t b) {
#pragma HLS inline
  return a > b ? a : b;
}

// Executes one run. Returns the cycles of its slowest stage.
// A run is one dataflow region over pieces of the slices. Each stream holds what a whole run
// writes, even if all entries go to one bank, so the stages can also run one after the other on a
// CPU.
inline std::uint32_t accumulate_run(const Word* positions, const Word* values,
                                    const Piece pieces[kRunPieces], std::uint32_t num_pieces,
                                    TileRange range, Arithmetic how, Order& order, Tile& tile) {
#pragma HLS dataflow
  WordStream position_words("position_words"), value_words("value_words");
  UpdateStream lanes[kBanks][kLanes];
  std::uint32_t bank_cycles[kBanks];
#pragma HLS array_partition variable = bank_cycles complete
  const std::uint32_t loaded_positions =
      load_words(positions, pieces, num_pieces, false, kWordPositions, position_words);
  const std::uint32_t loaded_values = load_words(
      values, pieces, num_pieces, true, kWordBytes / value_bytes(how.value_type), value_words);
  const std::uint32_t distributed = distribute(position_words, value_words, pieces, num_pieces,
                                               range, how.value_type, order, lanes);
  for (std::uint32_t bank = 0; bank < kBanks; ++bank) {
#pragma HLS unroll
    bank_cycles[bank] =
        update_bank(lanes[bank], num_pieces, how, tile.values[bank], tile.present[bank]);
  }
  std::uint32_t slowest = larger(port_cycles(loaded_positions + loaded_values), distributed);
  for (std::uint32_t bank = 0; bank < kBanks; ++bank) {
#pragma HLS unroll
    slowest = larger(slowest, bank_cycles[bank]);
  }
  return slowest;
}

}  // namespace sparse_aggregation
}  // namespace tandem
