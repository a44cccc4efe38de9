// SPDX-License-Identifier: Apache-2.0
//
// From octets of entries to words of the result.
//
// An octet without its second, and entries that make no octet, stay for the next tile;
// close_packing writes what is left of the last one. Steps of form_words: one per octet, and one
// per further word of a record. write_words is one burst.
#pragma once

#include "accumulate.h"

namespace tandem {
namespace sparse_aggregation {

const std::uint32_t kEmitDepth = 64;

// Eight entries next to each other in the result.
struct Octet {
  std::uint64_t values[kLanes];
  std::uint32_t positions[kLanes];
};

typedef hls::stream<Octet, kEmitDepth> OctetStream;
typedef hls::stream<Word, kEmitDepth> ResultStream;
typedef hls::stream<Word, kTileBlocks> BitmapStream;

struct EmitShape {
  std::uint32_t value_type;
  std::uint32_t format;
  std::uint32_t num_blocks;      // blocks of a tile
  std::uint32_t first_position;  // first position of the tile
  std::uint32_t bitmap_word;     // index of the result's word where the tile's bitmap begins
};

// Entries that are packed but make no octet, and an octet without its second. Each has one stage.
struct Gathered {
  Octet open;
  std::uint32_t fill;  // number of entries in `open`
  std::uint32_t num_entries;
};
struct Paired {
  Octet half;  // the first octet of a record or word
  bool has_half;
};

struct Packing {
  Gathered gathered;
  Paired paired;
  std::uint32_t next_word;  // index of the result's next word
};

inline Word positions_word(const Octet& half, const Octet& octet) {
#pragma HLS inline
  Word word;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
    word[lane] = half.positions[lane];
    word[kLanes + lane] = octet.positions[lane];
  }
  return word;
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

// Makes words of `count` octets: kCoo: positions, then one or two words of values, of two octets;
// kBitmap: values. Without a second octet the first one stays. A step reads an octet, or makes the
// second or third word of a record. steps: how many there were.
inline void form_words(OctetStream& octets, const EmitShape& shape, std::uint32_t count,
                       Paired& paired, ResultStream& words, std::uint32_t& steps) {
  const bool coo = shape.format == kCoo, wide = shape.value_type == kU64;
  Octet half = paired.half, octet = Octet();
  std::uint32_t taken = 0, done = 0;
  std::uint32_t phase = paired.has_half ? 1 : 0;  // 1: half is there; 2, 3: words of values
form_steps:
  while (taken < count || phase > 1) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 65536
    ++done;
    Octet next = octet;
    if (phase < 2) {
      next = octets.read();
      ++taken;
    }
    const bool first = phase == 0 && (coo || !wide), positions = phase == 1 && coo;
    Word word;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
#pragma HLS unroll
      const std::uint64_t value = wide && phase == 2 ? half.values[lane] : next.values[lane];
      const auto low = static_cast<std::uint32_t>(value);
      const auto high = static_cast<std::uint32_t>(value >> 32);
      const auto other = static_cast<std::uint32_t>(half.values[lane]);
      const std::uint32_t at = wide ? 2 * lane : lane, behind = wide ? at + 1 : kLanes + lane;
      word[at] = wide ? low : other;
      word[behind] = wide ? high : low;
    }
    if (positions) word = positions_word(half, next);
    if (!first) words.write(word);
    half = first ? next : half;
    octet = next;
    phase = first ? 1 : positions ? 2 : wide && phase == 2 ? 3 : 0;
  }
  paired.half = half;
  paired.has_half = phase == 1;
  steps = done;
}

// Words that `octets` octets make, and `has_half` one before them.
inline std::uint32_t words_of(const EmitShape& shape, bool has_half, std::uint32_t octets) {
#pragma HLS inline
  if (shape.format == kBitmap && shape.value_type == kU64) return octets;
  const std::uint32_t pairs = (octets + (has_half ? 1 : 0)) / 2;
  return shape.format == kBitmap ? pairs : pairs * record_words(shape.value_type);
}

inline void write_words(ResultStream& words, BitmapStream& bitmap, const EmitShape& shape,
                        std::uint32_t first, std::uint32_t count, Word* result) {
write_words:
  for (std::uint32_t i = 0; i < count; ++i) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 0 max = 65536
    result[first + i] = words.read();
  }
  if (shape.format != kBitmap) return;
write_bitmap:
  for (std::uint32_t i = 0; i < shape.num_blocks; ++i) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 512
    result[shape.bitmap_word + i] = bitmap.read();
  }
}

// Writes two octets: a record of kCoo, or values of kBitmap. For u64 values of kBitmap, `single`
// writes one octet.
inline void write_octets(Word* result, const EmitShape& shape, const Octet& half,
                         const Octet& octet, bool single, std::uint32_t* next_word) {
#pragma HLS inline
  if (shape.format == kCoo) {
    result[(*next_word)++] = positions_word(half, octet);
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
  } else if (packing.paired.has_half) {
    write_octets(result, shape, packing.paired.half, octet, false, &packing.next_word);
    packing.paired.has_half = false;
  } else {
    packing.paired.half = octet;
    packing.paired.has_half = true;
  }
}

inline void open_packing(Packing& packing, std::uint32_t first_word) {
  packing.gathered.open = Octet();
  packing.paired.half = Octet();
  packing.gathered.fill = 0;
  packing.paired.has_half = false;
  packing.next_word = first_word;
  packing.gathered.num_entries = 0;
}

// Writes the remaining entries, padded with zeros.
inline void close_packing(Word* result, const EmitShape& shape, Packing& packing) {
  if (packing.gathered.fill > 0) {
    for (std::uint32_t lane = packing.gathered.fill; lane < kLanes; ++lane) {
      packing.gathered.open.values[lane] = 0;
      packing.gathered.open.positions[lane] = 0;
    }
    take_octet(result, shape, packing.gathered.open, packing);
  }
  if (packing.paired.has_half) take_octet(result, shape, Octet(), packing);
}

}  // namespace sparse_aggregation
}  // namespace tandem
