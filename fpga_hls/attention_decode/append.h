// SPDX-License-Identifier: Apache-2.0
//
// Appends new k, v rows to the pages, and copies whole pages in and out.
//
// A row of f32 becomes f16 (nearest even), or i8 with one scale max|x| / 127: q = nearest(x /
// scale). A row that is not finite becomes zeros with scale NaN. All rows are written in the order
// of the sequence table before any query is answered. Cost per row and head: float_row_words read,
// page_row_words written; for i8 also the page's word of scales read and written. II = 1 a chunk.
#pragma once

#include "descriptor.h"

namespace tandem {
namespace attention_decode {

inline void read_float_row(const IoWord* descriptor, std::uint32_t word, std::uint32_t chunks,
                           float row[kMaxChunks][kChunk]) {
  for (std::uint32_t i = 0; i < float_row_words(chunks); ++i) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 2 max = 16
    const IoWord beat = descriptor[word + i];
    for (int lane = 0; lane < kWordFloats; ++lane) {
#pragma HLS unroll
      row[i / 2][(i & 1u) * kWordFloats + lane] = bits_to_float(beat[lane]);
    }
  }
}

inline void store_f16_row(const float row[kMaxChunks][kChunk], std::uint32_t chunks, PoolWord* pool,
                          std::uint32_t word) {
  for (std::uint32_t c = 0; c < chunks; ++c) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 8
    PoolWord beat;
    for (int i = 0; i < kChunk; ++i) {
#pragma HLS unroll
      beat[i] = float_to_half_bits(row[c][i]);
    }
    pool[word + c] = beat;
  }
}

// Returns max|x| / 127 of the row, or NaN if a value is not finite.
inline float row_scale(const float row[kMaxChunks][kChunk], std::uint32_t chunks) {
  // bits of |x|, which have the order of |x|; values that are not finite are largest
  std::uint32_t peak = 0;
  for (std::uint32_t c = 0; c < chunks; ++c) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 8
    for (int i = 0; i < kChunk; ++i) {
#pragma HLS unroll
      const std::uint32_t magnitude = float_to_bits(row[c][i]) & 0x7fffffffu;
      peak = magnitude > peak ? magnitude : peak;
    }
  }
  return peak >= 0x7f800000u ? bits_to_float(0x7fc00000u) : bits_to_float(peak) / 127.0f;
}

inline void store_i8_row(const float row[kMaxChunks][kChunk], std::uint32_t chunks, PoolWord* pool,
                         std::uint32_t block, std::uint32_t token) {
  const float scale = row_scale(row, chunks);
  const float inverse = scale > 1.17549435e-38f ? 1.0f / scale : 0.0f;  // 0 for NaN too
  const bool finite = scale == scale;
  const std::uint32_t row_words = page_row_words(kI8, chunks);
  for (std::uint32_t w = 0; w < row_words; ++w) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 4
    const bool both = 2 * w + 1 < chunks;
    PoolWord beat;
    for (int i = 0; i < kChunk; ++i) {
#pragma HLS unroll
      const std::uint32_t low = finite ? quantised_byte(row[2 * w][i] * inverse) : 0;
      const std::uint32_t high =
          finite && both ? quantised_byte(row[2 * w + (both ? 1 : 0)][i] * inverse) : 0;
      beat[i] = static_cast<std::uint16_t>(low | (high << 8));
    }
    pool[block + 1 + token * row_words + w] = beat;
  }
  PoolWord scales = pool[block];
  const std::uint32_t bits = float_to_bits(scale);
  scales[token] = static_cast<std::uint16_t>(bits & 0xffffu);
  scales[kPageRows + token] = static_cast<std::uint16_t>(bits >> 16);
  pool[block] = scales;
}

inline void append_row(const IoWord* descriptor, std::uint32_t word, const DescriptorHeader& h,
                       PoolWord* pool, std::uint32_t block, std::uint32_t token) {
  float row[kMaxChunks][kChunk];
#pragma HLS array_partition variable = row dim = 2 complete
  read_float_row(descriptor, word, h.chunks, row);
  if (h.kv_type == kI8) {
    store_i8_row(row, h.chunks, pool, block, token);
  } else {
    store_f16_row(row, h.chunks, pool, block + token * page_row_words(kF16, h.chunks));
  }
}

inline void append_sequence(const IoWord* descriptor, const DescriptorHeader& h,
                            const UnitShare& unit, const SequenceEntry& s, PoolWord* k_pool,
                            PoolWord* v_pool) {
append_tokens:
  for (std::uint32_t i = 0; i < s.num_new; ++i) {
    const std::uint32_t position = s.append_at + i;
    const std::uint32_t page = read_page(descriptor, h, s.page_begin + position / h.page_tokens);
    if (page % unit.num_slices != unit.slice) continue;
    const std::uint32_t token = position % h.page_tokens;
  append_heads:
    for (std::uint32_t head = 0; head < unit.head_count; ++head) {
      const std::uint32_t block =
          static_cast<std::uint32_t>(block_word(h, unit, page, h.layer, head));
      const std::uint32_t row =
          ((s.new_begin + i) * h.kv_heads + unit.head_begin + head) * float_row_words(h.chunks);
      append_row(descriptor, h.k_word + row, h, k_pool, block, token);
      append_row(descriptor, h.v_word + row, h, v_pool, block, token);
    }
  }
}

// Pool words and bus words hold the same bytes in lanes of different width.
inline IoWord io_word_of(const PoolWord& word) {
#pragma HLS inline
  IoWord result;
  for (int i = 0; i < kWordFloats; ++i) {
#pragma HLS unroll
    result[i] = word[2 * i] | (static_cast<std::uint32_t>(word[2 * i + 1]) << 16);
  }
  return result;
}

inline PoolWord pool_word_of(const IoWord& word) {
#pragma HLS inline
  PoolWord result;
  for (int i = 0; i < kWordFloats; ++i) {
#pragma HLS unroll
    result[2 * i] = static_cast<std::uint16_t>(word[i] & 0xffffu);
    result[2 * i + 1] = static_cast<std::uint16_t>(word[i] >> 16);
  }
  return result;
}

// Words of one head of a page in an export or import: [2 (k, v), layers] blocks.
inline std::uint64_t page_head_words(const DescriptorHeader& h) {
#pragma HLS inline
  return static_cast<std::uint64_t>(2) * h.num_layers * page_block_words(h.kv_type, h.chunks);
}

inline Verdict check_page_move(const IoWord* descriptor, const DescriptorHeader& h,
                               const UnitShare& unit) {
  if (h.num_pages != 1) return verdict(kBadShape, 0);
  const std::uint32_t page = read_page(descriptor, h, 0);
  if (page % unit.num_slices != unit.slice || !page_fits(h, unit, page)) {
    return verdict(kBadPage, 0);
  }
  if (h.operation == kImportPage) {
    return section_fits(h, h.q_word, h.kv_heads, page_head_words(h)) ? verdict(kOk, 1)
                                                                     : verdict(kBadSection, 2);
  }
  const std::uint64_t words = 1 + page_head_words(h) * unit.head_count;
  return words <= unit.result_words ? verdict(kOk, static_cast<std::uint32_t>(words))
                                    : verdict(kBadResult, 0);
}

inline void move_block(const IoWord* descriptor, IoWord* result, PoolWord* pool, bool import,
                       std::uint32_t io, std::uint32_t block, std::uint32_t words) {
  for (std::uint32_t i = 0; i < words; ++i) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 16 max = 128
    if (import) {
      pool[block + i] = pool_word_of(descriptor[io + i]);
    } else {
      result[io + i] = io_word_of(pool[block + i]);
    }
  }
}

inline void move_page(const IoWord* descriptor, IoWord* result, const DescriptorHeader& h,
                      const UnitShare& unit, PoolWord* k_pool, PoolWord* v_pool) {
  const bool import = h.operation == kImportPage;
  const std::uint32_t words = page_block_words(h.kv_type, h.chunks);
  const std::uint32_t page = read_page(descriptor, h, 0);
  std::uint32_t io =
      import ? h.q_word + static_cast<std::uint32_t>(unit.head_begin * page_head_words(h)) : 1;
  for (std::uint32_t head = 0; head < unit.head_count; ++head) {
    for (std::uint32_t layer = 0; layer < h.num_layers; ++layer) {
      const std::uint32_t block =
          static_cast<std::uint32_t>(block_word(h, unit, page, layer, head));
      move_block(descriptor, result, k_pool, import, io + layer * words, block, words);
      move_block(descriptor, result, v_pool, import, io + (h.num_layers + layer) * words, block,
                 words);
    }
    io += 2 * h.num_layers * words;
  }
}

}  // namespace attention_decode
}  // namespace tandem
