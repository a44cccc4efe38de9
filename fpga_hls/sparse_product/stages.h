// SPDX-License-Identifier: Apache-2.0
//
// The stages of a segment: load lengths, load groups, multiply, accumulate, add to the rows.
//
// One dataflow region per segment; streams lead from a stage to a later one. Eight lanes look the
// vector up at the same time: each of 4 copies is 16 memories with two ports. II = 1 for every
// loop: a partial sum is added to every 16th step of a row, which is longer than an addition, and
// the rows of a segment are different. Memory of a unit: the vector 64 URAM of 4,096 x 32 bits
// (half of their width), the sums 16 memories of 8,192 x 32 bits (32 URAM); FIFOs 4 of 64 words.
#pragma once

#include "../exact_f32/arithmetic.h"
#include "abi.h"
#include "hls_stream.h"
#include "hls_vector.h"

namespace tandem {
namespace sparse_product {

typedef hls::vector<std::uint32_t, kWordValues> Word;
typedef hls::vector<std::uint32_t, kLanes> Sums;  // bits of f32

const std::uint32_t kCopies = 4;
const std::uint32_t kTileWords = kTileColumns / kWordValues;
const std::uint32_t kBlockWords = kBlockRows / kWordValues;
const std::uint32_t kDepth = 64;
static_assert(kPartials == 16, "the dependence pragma below says 16");

typedef hls::stream<Word, kDepth> WordStream;
typedef hls::stream<std::uint32_t, kDepth> ValueStream;

// A partial sum of a row that is complete.
struct Partial {
  std::uint32_t value;
  std::uint8_t place;  // 0 .. kPartials - 1
  bool last;           // of the row
};
typedef hls::stream<Partial, kDepth> PartialStream;

// What the stages get of a segment.
struct SegmentShape {
  Segment place;
  std::uint32_t num_rows;
  std::uint32_t num_columns;
};

// The tile of the vector: [copy][word][value].
struct VectorTile {
  std::uint32_t values[kCopies][kTileWords][kWordValues];
};

struct RowBlock {
  std::uint32_t sums[kBlockWords][kWordValues];
};

// The sum of 8 values as a tree.
inline std::uint32_t tree_sum(const Sums& v) {
#pragma HLS inline
  using exact_f32::add;
  return add(add(add(v[0], v[1]), add(v[2], v[3])), add(add(v[4], v[5]), add(v[6], v[7])));
}

inline void load_tile(const Word* x, std::uint32_t first_word, std::uint32_t words,
                      VectorTile& tile) {
load_tile:
  for (std::uint32_t w = 0; w < words; ++w) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 4096
    const Word word = x[first_word + w];
    for (std::uint32_t copy = 0; copy < kCopies; ++copy) {
#pragma HLS unroll
      for (std::uint32_t i = 0; i < kWordValues; ++i) {
#pragma HLS unroll
        tile.values[copy][w][i] = word[i];
      }
    }
  }
}

inline void load_words(const Word* matrix, std::uint32_t first, std::uint32_t count,
                       WordStream& words) {
load_words:
  for (std::uint32_t w = 0; w < count; ++w) {
#pragma HLS pipeline II = 1
    words.write(matrix[first + w]);
  }
}

// The sum of the products of each group. bad: whether a column was outside the tile.
inline void multiply_groups(const SegmentShape& shape, WordStream& groups, const VectorTile& tile,
                            ValueStream& partials, bool& bad) {
  bool outside = false;
multiply_groups:
  for (std::uint32_t g = 0; g < shape.place.num_groups; ++g) {
#pragma HLS pipeline II = 1
    const Word word = groups.read();
    Sums products(0);
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
      const std::uint32_t column = word[lane];
      const bool is_entry = column != kNoEntry;
      const bool is_inside = column < shape.num_columns;
      outside = outside || (is_entry && !is_inside);
      const std::uint32_t at = is_inside ? column : 0;
      const std::uint32_t value = tile.values[lane / 2][at / kWordValues][at % kWordValues];
      products[lane] = is_entry ? exact_f32::multiply(word[kLanes + lane], value) : 0u;
    }
    partials.write(tree_sum(products));
  }
  bad = outside;
}

// The partial sums of each row, as each is complete. A step takes a group, or a row without groups.
inline void accumulate_rows(const SegmentShape& shape, WordStream& lengths, ValueStream& partials,
                            PartialStream& rows) {
  std::uint32_t sums[kPartials];
  Word word(0);
  std::uint32_t row = 0, taken = 0;
accumulate_rows:
  for (std::uint32_t step = 0; step < shape.place.num_steps; ++step) {
#pragma HLS pipeline II = 1
#pragma HLS dependence variable = sums type = inter direction = RAW distance = 16 true
    if (taken == 0 && row % kWordValues == 0) word = lengths.read();
    const std::uint32_t length = word[row % kWordValues];
    Partial out = Partial();
    out.place = static_cast<std::uint8_t>(taken % kPartials);
    out.last = taken + 1 >= length;
    if (length != 0) {
      out.value = partials.read();
      if (taken >= kPartials) out.value = exact_f32::add(sums[out.place], out.value);
      sums[out.place] = out.value;
    }
    if (taken + kPartials >= length) rows.write(out);
    row += out.last ? 1 : 0;
    taken = out.last ? 0 : taken + 1;
  }
}

// A row has up to kPartials partial sums, a step takes one.
inline void add_rows(const SegmentShape& shape, PartialStream& rows, RowBlock& block) {
  Sums low(0), high(0);
  std::uint32_t row = 0;
add_rows:
  while (row < shape.num_rows) {
#pragma HLS pipeline II = 1
#pragma HLS dependence variable = block.sums type = inter false
#pragma HLS loop_tripcount min = 1 max = 2097152
    const Partial in = rows.read();
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
      if (in.place == lane) low[lane] = in.value;
      if (in.place == kLanes + lane) high[lane] = in.value;
    }
    if (in.last) {
      std::uint32_t& sum = block.sums[row / kWordValues][row % kWordValues];
      sum = exact_f32::add(sum, exact_f32::add(tree_sum(low), tree_sum(high)));
      low = Sums(0);
      high = Sums(0);
    }
    row += in.last ? 1 : 0;
  }
}

// The calls are processes that run at the same time.
inline void run_segment(const Word* matrix, const Word* entries, const SegmentShape& shape,
                        const VectorTile& tile, RowBlock& block, bool& bad) {
#pragma HLS dataflow
  WordStream lengths("lengths"), groups("groups");
  ValueStream partials("partials");
  PartialStream rows("rows");
  load_words(matrix, shape.place.lengths_word, value_words(shape.num_rows), lengths);
  load_words(entries, shape.place.groups_word, shape.place.num_groups, groups);
  multiply_groups(shape, groups, tile, partials, bad);
  accumulate_rows(shape, lengths, partials, rows);
  add_rows(shape, rows, block);
}

inline void clear_block(std::uint32_t words, RowBlock& block) {
clear_block:
  for (std::uint32_t w = 0; w < words; ++w) {
#pragma HLS pipeline II = 1
    for (std::uint32_t i = 0; i < kWordValues; ++i) {
#pragma HLS unroll
      block.sums[w][i] = 0;
    }
  }
}

inline void store_block(std::uint32_t words, const RowBlock& block, Word* result,
                        std::uint32_t first_word) {
store_block:
  for (std::uint32_t w = 0; w < words; ++w) {
#pragma HLS pipeline II = 1
    Word word(0);
    for (std::uint32_t i = 0; i < kWordValues; ++i) {
#pragma HLS unroll
      word[i] = block.sums[w][i];
    }
    result[first_word + w] = word;
  }
}

}  // namespace sparse_product
}  // namespace tandem
