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
const std::uint32_t kListPieces = kRunPieces + 2;  // those behind the last are only read ahead
static_assert(kLanes == kBanks, "a dense row goes to all banks at once");
static_assert(kDrainCycles >= 16, "the dependence pragmas below say 16");

// Entries [begin, end) of one source, all of one tile.
struct Piece {
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t source;
  bool opens;  // whether this is the first piece of its source in its tile
};

// Words of one port; `last` is one less than their number.
struct WordRange {
  std::uint32_t first;
  std::uint32_t last;
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

// Pieces gathered for one run, and the words that hold their entries: a list for each process.
struct Batch {
  WordRange positions[kListPieces], values[kListPieces];
  Piece pieces[kListPieces];
  std::uint32_t num_pieces, position_words, value_words;
  std::uint32_t steps;  // groups, and a fence for each piece
};

// What a bank did in one run.
struct BankCounts {
  std::uint32_t cycles;
  std::uint32_t entries;  // positions that were absent
};

typedef hls::stream<Word, kRunGroups> WordStream;
typedef hls::stream<Update, kRunGroups> UpdateStream;

inline std::uint32_t groups_of(const Piece& piece) {
#pragma HLS inline
  return (piece.end - 1) / kLanes - piece.begin / kLanes + 1;
}

// The words of all ranges. The range after the next is read ahead, so that a word can follow each
// cycle, also where ranges have one word.
inline void load_words(const Word* input, const WordRange ranges[kListPieces], std::uint32_t count,
                       WordStream& words) {
  std::uint32_t ahead = 2, k = 0;
  WordRange now = ranges[0], next = ranges[1];
load_words:
  for (std::uint32_t i = 0; i < count; ++i) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 256
    const WordRange after = ranges[ahead];
    words.write(input[now.first + k]);
    const bool ends = k == now.last;
    k = ends ? 0 : k + 1;
    now = ends ? next : now;
    next = ends ? after : next;
    ahead += ends ? 1 : 0;
  }
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

// The last active lane of a group's lanes [.., end).
inline std::uint32_t last_lane(std::uint32_t group, std::uint32_t end) {
#pragma HLS inline
  const std::uint32_t left = end - 1 - group * kLanes;
  return left < kLanes ? left : kLanes - 1;
}

// Sends a group's entries to their banks. Returns false when an entry is outside the tile (it is
// not sent then), or does not ascend. `previous`: the position before the group.
inline bool send_group(const std::uint32_t positions[kLanes], const std::uint64_t values[kLanes],
                       const Piece& piece, std::uint32_t group, TileRange range,
                       std::uint32_t previous, UpdateStream lanes[kBanks][kLanes]) {
#pragma HLS inline
  bool good = true;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
    const std::uint32_t entry = group * kLanes + lane;
    if (entry < piece.begin || entry >= piece.end) continue;
    const std::uint32_t position = positions[lane], offset = position - range.first;
    const bool inside = position >= range.first && offset <= range.last_offset;
    const bool begins = entry == piece.begin;
    const std::uint32_t before = begins || lane == 0 ? previous : positions[lane - 1];
    good = good & inside & ((begins && piece.opens) || position > before);
    if (!inside) continue;
    Update update;
    update.value = values[lane];
    update.row = static_cast<std::uint16_t>(offset >> kRowBits);
    update.fence = false;
    lanes[bank_of(offset)][lane].write(update);
  }
  return good;
}

// Distributes the entries of a run over the banks: a step takes a group, or the fence of a piece.
inline void distribute(WordStream& position_words, WordStream& value_words,
                       const Piece pieces[kListPieces], std::uint32_t steps, TileRange range,
                       std::uint32_t value_type, Order& order, UpdateStream lanes[kBanks][kLanes]) {
  Word positions(0), values(0);
  Order state = order;
  std::uint32_t ahead = 2, g = 0;
  Piece now = pieces[0], next = pieces[1];
distribute_steps:
  for (std::uint32_t step = 0; step < steps; ++step) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 2 max = 256
    const Piece after = pieces[ahead];
    const bool fence = g == groups_of(now);
    if (fence) {
      send_fences(lanes);
    } else {
      const std::uint32_t group = now.begin / kLanes + g, half = group & 1u;
      const bool new_word = g == 0 || half == 0;
      if (new_word) positions = position_words.read();
      if (new_word || value_type == kU64) values = value_words.read();
      std::uint32_t own_positions[kLanes];
      std::uint64_t own_values[kLanes];
#pragma HLS array_partition variable = own_positions complete
#pragma HLS array_partition variable = own_values complete
      for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
        own_positions[lane] = positions[half * kLanes + lane];
        own_values[lane] = value_lane(values, value_type, half, lane);
      }
      const bool good =
          send_group(own_positions, own_values, now, group, range, state.previous, lanes);
      state.previous = own_positions[last_lane(group, now.end)];
      if (!good && state.bad_source == 0) state.bad_source = now.source + 1;
    }
    g = fence ? 0 : g + 1;
    now = fence ? next : now;
    next = fence ? after : next;
    ahead += fence ? 1 : 0;
  }
  order = state;
}

// Does one bank's updates of a run: one a cycle, from any lane that has one. Hazard: an update
// reads, adds and writes in less than kDrainCycles. After the fences of all lanes a bank waits so
// long, so its pipeline is empty before the next source. The fences also keep the order of
// additions, source after source.
inline void update_bank(UpdateStream lanes[kLanes], std::uint32_t num_pieces, Arithmetic how,
                        std::uint64_t values[kTileRows], bool present[kTileBlocks][kBlockRows],
                        BankCounts& counts) {
  BankCounts own = BankCounts();
  std::uint32_t fenced = 0;  // a bit per lane
  std::uint32_t next = 0, done = 0, idle = 0;
bank_steps:
  while (done < num_pieces) {
#pragma HLS pipeline II = 1
#pragma HLS dependence variable = values type = inter direction = RAW distance = 16 true
#pragma HLS dependence variable = present type = inter direction = RAW distance = 16 true
#pragma HLS loop_tripcount min = 8 max = 4000
    ++own.cycles;
    std::uint32_t chosen = kLanes;
    for (std::uint32_t step = 0; step < kLanes; ++step) {
#pragma HLS unroll
      const std::uint32_t lane = (next + step) % kLanes;
      const bool waits = idle > 0 || chosen != kLanes || ((fenced >> lane) & 1u) != 0;
      if (!waits && !lanes[lane].empty()) chosen = lane;
    }
    idle -= idle > 0 ? 1 : 0;
    if (chosen != kLanes) {
      next = chosen + 1;
      const Update update = lanes[chosen].read();
      if (update.fence) {
        fenced |= 1u << chosen;
        const bool drains = fenced == (1u << kLanes) - 1;
        fenced = drains ? 0 : fenced;
        idle = drains ? kDrainCycles : 0;
        done += drains ? 1 : 0;
      } else {
        bool& there = present[update.row / kBlockRows][update.row % kBlockRows];
        values[update.row] =
            there ? reduce(how.value_type, how.reduction, values[update.row], update.value)
                  : update.value;
        own.entries += there ? 0 : 1;
        there = true;
      }
    }
  }
  counts = own;
}

// Executes one run: one dataflow region over pieces of the slices. Each stream holds what a whole
// run writes, even if all entries go to one bank.
inline void accumulate_run(const Word* positions, const Word* values, const Batch& batch,
                           TileRange range, Arithmetic how, Order& order, Tile& tile,
                           BankCounts counts[kBanks]) {
#pragma HLS dataflow
  WordStream position_words("position_words"), value_words("value_words");
  UpdateStream lanes[kBanks][kLanes];
  load_words(positions, batch.positions, batch.position_words, position_words);
  load_words(values, batch.values, batch.value_words, value_words);
  distribute(position_words, value_words, batch.pieces, batch.steps, range, how.value_type, order,
             lanes);
  update_bank(lanes[0], batch.num_pieces, how, tile.values[0], tile.present[0], counts[0]);
  update_bank(lanes[1], batch.num_pieces, how, tile.values[1], tile.present[1], counts[1]);
  update_bank(lanes[2], batch.num_pieces, how, tile.values[2], tile.present[2], counts[2]);
  update_bank(lanes[3], batch.num_pieces, how, tile.values[3], tile.present[3], counts[3]);
  update_bank(lanes[4], batch.num_pieces, how, tile.values[4], tile.present[4], counts[4]);
  update_bank(lanes[5], batch.num_pieces, how, tile.values[5], tile.present[5], counts[5]);
  update_bank(lanes[6], batch.num_pieces, how, tile.values[6], tile.present[6], counts[6]);
  update_bank(lanes[7], batch.num_pieces, how, tile.values[7], tile.present[7], counts[7]);
}

inline std::uint32_t larger(std::uint32_t a, std::uint32_t b) {
#pragma HLS inline
  return a > b ? a : b;
}

}  // namespace sparse_aggregation
}  // namespace tandem
