// SPDX-License-Identifier: Apache-2.0
//
// The stages that write a tile out: scan -> visit -> pack -> form -> write.
//
// One dataflow region per tile; each stage is one pipelined loop. scan_presence reads 256 presence
// bits a cycle (a stripe of 32 rows), and clears them. visit_rows takes a cycle for each stripe and
// for each row with entries, in order. pack_rows closes the gaps, form_words makes words of the
// result, write_words writes them in one ascending burst (kCoo), or values and bitmap one after the
// other (kBitmap). An incomplete octet or record stays for the next tile. How many words a tile has
// is known from the banks. FIFOs: 64 stripes, rows, octets and words; 512 bitmap words (URAM).
#pragma once

#include "form.h"

namespace tandem {
namespace sparse_aggregation {

const std::uint32_t kStripeRows = kStripePositions / kBanks;
const std::uint32_t kBlockStripes = kBlockRows / kStripeRows;

// The presence bits of 32 rows: bit r of bits[bank] is row first_row + r; `any`: their union.
struct Stripe {
  std::uint32_t bits[kBanks];
  std::uint32_t any;
  std::uint32_t first_row;
  bool last;  // of the tile; holds nothing
};

// The places of a row in order of position; bit i of `mask`: place i holds an entry.
struct Row {
  std::uint64_t values[kBanks];
  std::uint32_t position;  // position of place 0
  std::uint8_t mask;
  bool last;  // of the tile; holds nothing
};

typedef hls::stream<Stripe, kEmitDepth> StripeStream;
typedef hls::stream<Row, kEmitDepth> RowStream;

// Reads and clears the presence bits of a stripe.
inline Stripe take_stripe(bool present[kBanks][kTileBlocks][kBlockRows], std::uint32_t number) {
#pragma HLS inline
  const std::uint32_t block = number / kBlockStripes, first = number % kBlockStripes * kStripeRows;
  Stripe stripe;
  stripe.any = 0;
  for (std::uint32_t bank = 0; bank < kBanks; ++bank) {
#pragma HLS unroll
    std::uint32_t word = 0;
    for (std::uint32_t row = 0; row < kStripeRows; ++row) {
#pragma HLS unroll
      word |= static_cast<std::uint32_t>(present[bank][block][first + row]) << row;
      present[bank][block][first + row] = false;
    }
    stripe.bits[bank] = word;
    stripe.any |= word;
  }
  stripe.first_row = number * kStripeRows;
  stripe.last = false;
  return stripe;
}

// Returns the presence bits of a row in order of position.
inline std::uint8_t mask_of(const std::uint32_t bits[kBanks], std::uint32_t row,
                            std::uint32_t fold) {
#pragma HLS inline
  std::uint32_t mask = 0;
  for (std::uint32_t place = 0; place < kBanks; ++place) {
#pragma HLS unroll
    mask |= ((bits[place ^ fold] >> row) & 1u) << place;
  }
  return static_cast<std::uint8_t>(mask);
}

// A stripe's half of its block's word in the bitmap.
inline void put_bitmap(const Stripe& stripe, std::uint32_t half, Word& word) {
#pragma HLS inline
  for (std::uint32_t row = 0; row < kStripeRows; ++row) {
#pragma HLS unroll
    const std::uint32_t mask = mask_of(stripe.bits, row, fold_of(stripe.first_row + row));
    const std::uint32_t at = half * (kStripeRows / 4) + row / 4;
    word[at] = row % 4 == 0 ? mask : word[at] | (mask << (row % 4 * kBanks));
  }
}

inline void scan_presence(bool present[kBanks][kTileBlocks][kBlockRows], const EmitShape& shape,
                          StripeStream& stripes, BitmapStream& bitmap) {
#pragma HLS array_partition variable = present dim = 1 complete
#pragma HLS array_partition variable = present dim = 3 complete
  Word word(0);
scan_stripes:
  for (std::uint32_t i = 0; i < shape.num_blocks * kBlockStripes; ++i) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 2 max = 1024
    const Stripe stripe = take_stripe(present, i);
    if (stripe.any != 0) stripes.write(stripe);
    if (shape.format == kBitmap) {
      put_bitmap(stripe, i % kBlockStripes, word);
      if (i % kBlockStripes == kBlockStripes - 1) bitmap.write(word);
    }
  }
  Stripe end = Stripe();
  end.last = true;
  stripes.write(end);
}

// A step takes a stripe, or a row of one. steps: how many there were.
inline void visit_rows(const std::uint64_t sums[kBanks][kTileRows], const EmitShape& shape,
                       StripeStream& stripes, RowStream& rows, std::uint32_t& steps) {
#pragma HLS array_partition variable = sums dim = 1 complete
  Stripe stripe = Stripe();
  std::uint32_t any = 0, count = 0;
  bool empty = true;
visit_steps:
  while (!stripe.last) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 33792
    if (empty) {
      stripe = stripes.read();
      any = stripe.any;
      empty = false;
    } else {
      const auto at = static_cast<std::uint32_t>(__builtin_ctz(any));
      const std::uint32_t rest = any & (any - 1);
      const std::uint32_t number = stripe.first_row + at, fold = fold_of(number);
      Row row;
      row.position = shape.first_position + number * kBanks;
      row.mask = mask_of(stripe.bits, at, fold);
      row.last = false;
      for (std::uint32_t place = 0; place < kBanks; ++place) {
#pragma HLS unroll
        row.values[place] = sums[place ^ fold][number];
      }
      rows.write(row);
      any = rest;
      empty = rest == 0;
    }
    ++count;
  }
  Row end = Row();
  end.last = true;
  rows.write(end);
  steps = count;
}

// Places of a row are put behind the entries of the open octet; what is beyond eight opens the next
// one.
inline void pack_rows(RowStream& rows, Gathered& gathered, OctetStream& octets) {
  Octet open = gathered.open;
  std::uint32_t fill = gathered.fill, total = 0;
  Row row = rows.read();
pack_rows:
  while (!row.last) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 32768
    std::uint64_t both_values[2 * kLanes];
    std::uint32_t both_positions[2 * kLanes];
#pragma HLS array_partition variable = both_values complete
#pragma HLS array_partition variable = both_positions complete
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
      both_values[lane] = open.values[lane];
      both_positions[lane] = open.positions[lane];
      both_values[kLanes + lane] = 0;
      both_positions[kLanes + lane] = 0;
    }
    std::uint32_t count = 0;
    for (std::uint32_t place = 0; place < kBanks; ++place) {
#pragma HLS unroll
      if (((row.mask >> place) & 1u) != 0) {
        both_values[fill + count] = row.values[place];
        both_positions[fill + count] = row.position + place;
        ++count;
      }
    }
    const bool full = fill + count >= kLanes;
    Octet low;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
      low.values[lane] = both_values[lane];
      low.positions[lane] = both_positions[lane];
      open.values[lane] = full ? both_values[kLanes + lane] : both_values[lane];
      open.positions[lane] = full ? both_positions[kLanes + lane] : both_positions[lane];
    }
    if (full) octets.write(low);
    fill = (fill + count) % kLanes;
    total += count;
    row = rows.read();
  }
  gathered.open = open;
  gathered.fill = fill;
  gathered.num_entries += total;
}

// What a tile's octets are, and where their words go.
struct EmitPlan {
  std::uint32_t octets;
  std::uint32_t first_word;
  std::uint32_t words;
};

inline void emit_stages(Tile& tile, const EmitShape& shape, EmitPlan plan, Gathered& gathered,
                        Paired& paired, Word* result, std::uint32_t& visit_steps,
                        std::uint32_t& form_steps) {
#pragma HLS dataflow
  StripeStream stripes("stripes");
  RowStream rows("rows");
  OctetStream octets("octets");
  ResultStream words("words");
  BitmapStream bitmap("bitmap");
#pragma HLS bind_storage variable = bitmap type = fifo impl = uram
  scan_presence(tile.present, shape, stripes, bitmap);
  visit_rows(tile.values, shape, stripes, rows, visit_steps);
  pack_rows(rows, gathered, octets);
  form_words(octets, shape, plan.octets, paired, words, form_steps);
  write_words(words, bitmap, shape, plan.first_word, plan.words, result);
}

// Writes the tile's `entries` positions. Returns the cycles of the slowest stage.
inline std::uint32_t emit_tile(Tile& tile, const EmitShape& shape, std::uint32_t entries,
                               Packing& packing, Word* result) {
  Gathered gathered = packing.gathered;
  Paired paired = packing.paired;
  EmitPlan plan;
  plan.octets = (gathered.fill + entries) / kLanes;
  plan.first_word = packing.next_word;
  plan.words = words_of(shape, paired.has_half, plan.octets);
  std::uint32_t visits = 0, forms = 0;
  emit_stages(tile, shape, plan, gathered, paired, result, visits, forms);
  packing.gathered = gathered;
  packing.paired = paired;
  packing.next_word += plan.words;
  const std::uint32_t written = plan.words + (shape.format == kBitmap ? shape.num_blocks : 0);
  return larger(larger(shape.num_blocks * kBlockStripes, visits),
                larger(forms, port_cycles(written)));
}

}  // namespace sparse_aggregation
}  // namespace tandem
