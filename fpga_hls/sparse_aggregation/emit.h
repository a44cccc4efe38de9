// SPDX-License-Identifier: Apache-2.0
//
// The stages that write a tile out: scan_rows -> rows -> pack_rows -> octets -> write_results.
//
// scan_rows reads 512 presence bits a cycle, clears them, and visits the rows with entries in
// order, one a cycle. pack_rows closes the gaps. write_results writes whole words in one ascending
// burst (kCoo), or values and bitmap side by side (kBitmap). An incomplete octet or record stays
// for the next run and tile. II = 1 a row; 64 bytes a cycle, of which a pseudo-channel takes 48.
// FIFOs: 512 rows, 512 octets, 512 bitmap words (URAM), which hold a whole run, as in accumulate.h.
#pragma once

#include "accumulate.h"

namespace tandem {
namespace sparse_aggregation {

const std::uint32_t kEmitRows = 512;  // rows of one run, end marks included

// The places of a row in order of position; bit i of `mask`: place i holds an entry.
struct Row {
  std::uint64_t values[kBanks];
  std::uint32_t position;  // position of place 0
  std::uint8_t mask;
  bool last;  // of the run; holds nothing
};

// Eight entries next to each other in the result.
struct Octet {
  std::uint64_t values[kLanes];
  std::uint32_t positions[kLanes];
  bool last;  // of the run; holds nothing
};

typedef hls::stream<Row, kEmitRows> RowStream;
typedef hls::stream<Octet, kEmitRows> OctetStream;
typedef hls::stream<Word, kEmitRows> BitmapStream;

struct EmitShape {
  std::uint32_t value_type;
  std::uint32_t format;
  std::uint32_t num_blocks;      // blocks of a tile
  std::uint32_t first_position;  // first position of the tile
  std::uint32_t bitmap_word;     // index of the result's word where the tile's bitmap begins
};

// Entries that are packed but not yet written, and the position in the result.
struct Packing {
  Octet open;          // gathers entries
  std::uint32_t fill;  // number of entries in `open`
  Octet half;          // the first octet of a record or word
  bool has_half;
  std::uint32_t next_word;  // index of the result's next word
  std::uint32_t num_entries;
};

struct Scan {
  std::uint32_t next_block;
  std::uint32_t rows;
  std::uint32_t bitmap_words;
  std::uint32_t cycles;
};

// Reads and clears the presence bits of a block: bit r of bits[bank] is row r; returns their union.
inline std::uint64_t take_block(Tile& tile, std::uint32_t block, std::uint64_t bits[kBanks]) {
#pragma HLS inline
  std::uint64_t any = 0;
  for (std::uint32_t bank = 0; bank < kBanks; ++bank) {
#pragma HLS unroll
    std::uint64_t word = 0;
    for (std::uint32_t row = 0; row < kBlockRows; ++row) {
#pragma HLS unroll
      word |= static_cast<std::uint64_t>(tile.present[bank][block][row]) << row;
      tile.present[bank][block][row] = false;
    }
    bits[bank] = word;
    any |= word;
  }
  return any;
}

// Returns the presence bits of a row in order of position.
inline std::uint8_t mask_of(const std::uint64_t bits[kBanks], std::uint32_t row_in_block,
                            std::uint32_t fold) {
#pragma HLS inline
  std::uint32_t mask = 0;
  for (std::uint32_t place = 0; place < kBanks; ++place) {
#pragma HLS unroll
    mask |= static_cast<std::uint32_t>((bits[place ^ fold] >> row_in_block) & 1u) << place;
  }
  return static_cast<std::uint8_t>(mask);
}

inline Word bitmap_of(const std::uint64_t bits[kBanks], std::uint32_t block) {
#pragma HLS inline
  Word word(0);
  for (std::uint32_t row = 0; row < kBlockRows; ++row) {
#pragma HLS unroll
    const std::uint32_t mask = mask_of(bits, row, fold_of(block * kBlockRows + row));
    word[row / 4] |= mask << (row % 4 * kBanks);
  }
  return word;
}

inline void scan_rows(Tile& tile, const EmitShape& shape, Scan& scan, RowStream& rows,
                      BitmapStream& bitmap) {
  scan.rows = 0;
  scan.bitmap_words = 0;
  scan.cycles = 0;
scan_blocks:
  while (scan.next_block < shape.num_blocks && scan.rows + kBlockRows < kEmitRows &&
         scan.bitmap_words < kEmitRows) {
#pragma HLS loop_tripcount min = 1 max = 512
    const std::uint32_t block = scan.next_block++;
    std::uint64_t bits[kBanks];
#pragma HLS array_partition variable = bits complete
    std::uint64_t any = take_block(tile, block, bits);
    ++scan.cycles;
    if (shape.format == kBitmap) {
      bitmap.write(bitmap_of(bits, block));
      ++scan.bitmap_words;
    }
    if (any == 0) continue;
    scan.cycles += kRefillCycles;
  scan_block_rows:
    while (any != 0) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 64
      const std::uint32_t at = static_cast<std::uint32_t>(__builtin_ctzll(any));
      any &= any - 1;
      const std::uint32_t number = block * kBlockRows + at;
      const std::uint32_t fold = fold_of(number);
      Row row;
      row.position = shape.first_position + number * kBanks;
      row.mask = mask_of(bits, at, fold);
      row.last = false;
      for (std::uint32_t place = 0; place < kBanks; ++place) {
#pragma HLS unroll
        row.values[place] = tile.values[place ^ fold][number];
      }
      rows.write(row);
      ++scan.rows;
      ++scan.cycles;
    }
  }
  Row end = Row();
  end.last = true;
  rows.write(end);
}

inline void pack_rows(RowStream& rows, Packing& packing, OctetStream& octets) {
pack_rows:
  for (;;) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 512
    const Row row = rows.read();
    if (row.last) break;
    for (std::uint32_t place = 0; place < kBanks; ++place) {
#pragma HLS unroll
      if (((row.mask >> place) & 1u) == 0) continue;
      packing.open.values[packing.fill] = row.values[place];
      packing.open.positions[packing.fill] = row.position + place;
      ++packing.num_entries;
      if (++packing.fill == kLanes) {  // once a row at most
        octets.write(packing.open);
        packing.fill = 0;
      }
    }
  }
  Octet end = Octet();
  end.last = true;
  octets.write(end);
}

// Packs values into a word: two octets of f32, or one of u64 (`half` is not used).
inline Word values_word(std::uint32_t value_type, const Octet& half, const Octet& octet) {
#pragma HLS inline
  Word word;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
    const std::uint64_t value = octet.values[lane];
    if (value_type == kU64) {
      word[2 * lane] = static_cast<std::uint32_t>(value);
      word[2 * lane + 1] = static_cast<std::uint32_t>(value >> 32);
    } else {
      word[lane] = static_cast<std::uint32_t>(half.values[lane]);
      word[kLanes + lane] = static_cast<std::uint32_t>(value);
    }
  }
  return word;
}

// Writes two octets: a record of kCoo, or values of kBitmap. For u64 values of kBitmap, `single`
// writes one octet.
inline void write_octets(Word* result, const EmitShape& shape, const Octet& half,
                         const Octet& octet, bool single, std::uint32_t* next_word) {
#pragma HLS inline
  if (shape.format == kCoo) {
    Word positions;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
      positions[lane] = half.positions[lane];
      positions[kLanes + lane] = octet.positions[lane];
    }
    result[(*next_word)++] = positions;
  }
  if (shape.value_type == kU64 && !single) {
    result[(*next_word)++] = values_word(kU64, half, half);
  }
  result[(*next_word)++] = values_word(shape.value_type, half, octet);
}

inline void take_octet(Word* result, const EmitShape& shape, const Octet& octet, Packing& packing) {
#pragma HLS inline
  if (shape.format == kBitmap && shape.value_type == kU64) {
    write_octets(result, shape, octet, octet, true, &packing.next_word);
  } else if (packing.has_half) {
    write_octets(result, shape, packing.half, octet, false, &packing.next_word);
    packing.has_half = false;
  } else {
    packing.half = octet;
    packing.has_half = true;
  }
}

// Writes the results of a run. Returns the number of written words.
inline std::uint32_t write_results(OctetStream& octets, BitmapStream& bitmap, const Scan& scan,
                                   const EmitShape& shape, std::uint32_t bitmap_begin,
                                   Packing& packing, Word* result) {
  const std::uint32_t begin = packing.next_word;
write_octets:
  for (;;) {
#pragma HLS pipeline
#pragma HLS loop_tripcount min = 1 max = 512
    const Octet octet = octets.read();
    if (octet.last) break;
    take_octet(result, shape, octet, packing);
  }
write_bitmap:
  for (std::uint32_t i = 0; i < scan.bitmap_words; ++i) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 0 max = 512
    result[bitmap_begin + i] = bitmap.read();
  }
  return packing.next_word - begin + scan.bitmap_words;
}

// Emits blocks from scan.next_block on, as many as one run handles. Returns the cycles of its
// slowest stage.
inline std::uint32_t emit_run(Tile& tile, const EmitShape& shape, Scan& scan, Packing& packing,
                              Word* result) {
#pragma HLS dataflow
  RowStream rows("rows");
  OctetStream octets("octets");
  BitmapStream bitmap("bitmap");
#pragma HLS bind_storage variable = rows type = fifo impl = uram
#pragma HLS bind_storage variable = bitmap type = fifo impl = uram
  const std::uint32_t bitmap_begin = shape.bitmap_word + scan.next_block;
  scan_rows(tile, shape, scan, rows, bitmap);
  pack_rows(rows, packing, octets);
  const std::uint32_t words =
      write_results(octets, bitmap, scan, shape, bitmap_begin, packing, result);
  return larger(scan.cycles, port_cycles(words));
}

inline void open_packing(Packing& packing, std::uint32_t first_word) {
  packing.open = Octet();
  packing.half = Octet();
  packing.fill = 0;
  packing.has_half = false;
  packing.next_word = first_word;
  packing.num_entries = 0;
}

// Writes the remaining entries, padded with zeros.
inline void close_packing(Word* result, const EmitShape& shape, Packing& packing) {
  if (packing.fill > 0) {
    for (std::uint32_t lane = packing.fill; lane < kLanes; ++lane) {
      packing.open.values[lane] = 0;
      packing.open.positions[lane] = 0;
    }
    take_octet(result, shape, packing.open, packing);
  }
  if (packing.has_half) take_octet(result, shape, Octet(), packing);
}

}  // namespace sparse_aggregation
}  // namespace tandem
