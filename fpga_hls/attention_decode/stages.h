// SPDX-License-Identifier: Apache-2.0
//
// The stages a page of KV flows through: load, score, soften (online softmax), accumulate.
//
// A tile is up to kTileRows query rows (all share one KV head) held on chip; one call of
// attend_page() takes one page through all stages as a dataflow region, so that page n + 1 loads
// while page n is scored and page n - 1 accumulated. Streams are bounded and hold at least what one
// page puts in, so the stages also run one after the other on a CPU. Per page and 64-byte word:
// load II = 1; score and accumulate take ceil(rows / kRowLanes) cycles a chunk, II = 1 where
// 2 * chunks * ceil(rows / kRowLanes) covers the adder's latency; soften takes kPageRows *
// ceil(rows / kRowLanes) cycles. Multiplications of f16 or i8 by f32: kRowLanes * 32 in score and
// as many in accumulate. Source: online softmax, Milakov and Gimelshein, arXiv 1805.02867.
#pragma once

#include "hls_stream.h"
#include "numerics.h"

namespace tandem {
namespace attention_decode {

const int kTileRows = 16;    // query rows answered per read of K and V
const int kRowLanes = 4;     // of them at once
const int kWordDepth = 128;  // a page of head_dim 256, two of 128; 8 BRAM of 512 x 72 bits
static_assert(kRowLanes == 4, "the unroll and partition pragmas below say 4");

struct TileShape {
  std::uint32_t rows;
  std::uint32_t chunks;
  std::uint32_t kv_type;
};

// A page of this unit: its block in the pools, and how many of its tokens are attended to (1..16).
struct PageJob {
  std::uint32_t block_word;
  std::uint32_t tokens;
};

// A tile on chip: queries (scaled); per row the largest score so far and the sum of exp(score -
// largest); and the weighted sums of values, those of even and odd tokens apart, which doubles the
// distance between additions to the same place.
typedef float QueryTile[kTileRows][kMaxChunks][kChunk];
typedef float RowState[kTileRows];
typedef float OutputTile[2][kTileRows][kMaxChunks][kChunk];

typedef hls::stream<PoolWord, kWordDepth> WordStream;
typedef hls::stream<PoolWord, 2> ScaleStream;
typedef hls::stream<TokenLanes, kTileRows> TokenStream;
typedef hls::stream<float, kTileRows> RowStream;

inline void load_page(const PoolWord* pool, TileShape shape, PageJob job, WordStream& words,
                      ScaleStream& scales) {
  const std::uint32_t row_words = page_row_words(shape.kv_type, shape.chunks);
  std::uint32_t begin = job.block_word;
  if (shape.kv_type == kI8) {
    scales.write(pool[begin]);
    ++begin;
  }
load_words:
  for (std::uint32_t i = 0; i < job.tokens * row_words; ++i) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 16 max = 128
    words.write(pool[begin + i]);
  }
}

// The scale of every token of the page: 1 for f16.
inline TokenLanes token_scales(std::uint32_t kv_type, ScaleStream& scales) {
#pragma HLS inline
  TokenLanes lanes;
  PoolWord word;
  if (kv_type == kI8) word = scales.read();
  for (int t = 0; t < kPageRows; ++t) {
#pragma HLS unroll
    const std::uint32_t bits = word[t] | (static_cast<std::uint32_t>(word[kPageRows + t]) << 16);
    lanes[t] = kv_type == kI8 ? bits_to_float(bits) : 1.0f;
  }
  return lanes;
}

// Reads the next word of a row when `chunk` starts one, and decodes the chunk.
inline void next_chunk(WordStream& words, std::uint32_t kv_type, std::uint32_t chunk,
                       PoolWord& word, float out[kChunk]) {
#pragma HLS inline
  if (kv_type == kI8) {
    if ((chunk & 1u) == 0) word = words.read();
    decode_i8(word, (chunk & 1u) != 0, out);
  } else {
    word = words.read();
    decode_f16(word, out);
  }
}

// Scores of every row against every token of the page.
inline void score_page(WordStream& words, ScaleStream& scales, TileShape shape, PageJob job,
                       const QueryTile query, TokenStream& scores) {
  float partial[kTileRows][kMaxChunks];  // of the token at hand; summed once its row is complete
#pragma HLS array_partition variable = partial dim = 2 complete
#pragma HLS array_partition variable = partial dim = 1 cyclic factor = 4
  TokenLanes score[kTileRows];
#pragma HLS array_partition variable = score dim = 1 cyclic factor = 4
  const TokenLanes scale = token_scales(shape.kv_type, scales);
  PoolWord word;
score_tokens:
  for (std::uint32_t t = 0; t < job.tokens; ++t) {
#pragma HLS loop_tripcount min = 1 max = 16
  score_chunks:
    for (std::uint32_t c = 0; c < shape.chunks; ++c) {
#pragma HLS loop_tripcount min = 1 max = 8
      float keys[kChunk];
#pragma HLS array_partition variable = keys complete
      next_chunk(words, shape.kv_type, c, word, keys);
    score_rows:
      for (std::uint32_t row = 0; row < shape.rows; ++row) {
#pragma HLS pipeline II = 1
#pragma HLS unroll factor = 4
#pragma HLS loop_tripcount min = 1 max = 16
        float product[kChunk];
#pragma HLS array_partition variable = product complete
        for (int i = 0; i < kChunk; ++i) {
#pragma HLS unroll
          product[i] = keys[i] * query[row][c][i];
#pragma HLS bind_op variable = product op = fmul impl = meddsp
        }
        partial[row][c] = sum_of_lanes(product);
        if (c + 1 == shape.chunks) {
          float sum = 0.0f;
          for (int i = 0; i < kMaxChunks; ++i) {
#pragma HLS unroll
            sum += i < static_cast<int>(shape.chunks) ? partial[row][i] : 0.0f;
          }
          score[row][t] = sum * scale[t];
        }
      }
    }
  }
send_scores:
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 16
    scores.write(score[row]);
  }
}

// Turns scores into weights exp(score - peak) under the new peak, and says by how much everything
// accumulated under the old one shrinks.
inline void soften_page(TokenStream& scores, TileShape shape, PageJob job, RowState peaks,
                        RowState weight_sums, TokenStream& weights, RowStream& shrinks) {
soften_rows:
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
#pragma HLS loop_tripcount min = 1 max = 16
#pragma HLS pipeline II = 4
    const TokenLanes score = scores.read();
    const int tokens = static_cast<int>(job.tokens);
    const float old_peak = peaks[row];
    float peak = old_peak;
    for (int t = 0; t < kPageRows; ++t) {
#pragma HLS unroll
      // A NaN score fails every comparison and reaches the sum through its weight.
      peak = t < tokens && score[t] > peak ? score[t] : peak;
    }
    TokenLanes weight;
    for (int t = 0; t < kPageRows; ++t) {
#pragma HLS unroll
      const float e = exp_of(score[t] - peak);
      weight[t] = t < tokens ? e : 0.0f;
    }
    float sum = 0.0f;
    for (int t = 0; t < kPageRows; ++t) {
#pragma HLS unroll
      sum += weight[t];
    }
    const float shrink = exp_of(old_peak - peak);
    peaks[row] = peak;
    weight_sums[row] = weight_sums[row] * shrink + sum;
    weights.write(weight);
    shrinks.write(shrink);
  }
}

// output = output * shrink + weights * values.
inline void accumulate_page(WordStream& words, ScaleStream& scales, TokenStream& weights,
                            RowStream& shrinks, TileShape shape, PageJob job, OutputTile output) {
  TokenLanes weight[kTileRows];
#pragma HLS array_partition variable = weight dim = 1 cyclic factor = 4
  const TokenLanes scale = token_scales(shape.kv_type, scales);
shrink_rows:
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
#pragma HLS loop_tripcount min = 1 max = 16
    weight[row] = weights.read();
    for (int t = 0; t < kPageRows; ++t) {
#pragma HLS unroll
      weight[row][t] *= t < static_cast<int>(job.tokens) ? scale[t] : 1.0f;
    }
    const float shrink = shrinks.read();
    if (shrink == 1.0f) continue;  // the peak stayed, as it does for most pages
    for (std::uint32_t c = 0; c < shape.chunks; ++c) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 1 max = 8
      for (int i = 0; i < kChunk; ++i) {
#pragma HLS unroll
        output[0][row][c][i] *= shrink;
        output[1][row][c][i] *= shrink;
      }
    }
  }
  PoolWord word;
value_tokens:
  for (std::uint32_t t = 0; t < job.tokens; ++t) {
#pragma HLS loop_tripcount min = 1 max = 16
  value_chunks:
    for (std::uint32_t c = 0; c < shape.chunks; ++c) {
#pragma HLS loop_tripcount min = 1 max = 8
      float values[kChunk];
#pragma HLS array_partition variable = values complete
      next_chunk(words, shape.kv_type, c, word, values);
    value_rows:
      for (std::uint32_t row = 0; row < shape.rows; ++row) {
#pragma HLS pipeline II = 1
#pragma HLS unroll factor = 4
#pragma HLS loop_tripcount min = 1 max = 16
        float* sums = output[t & 1u][row][c];
        for (int i = 0; i < kChunk; ++i) {
#pragma HLS unroll
          sums[i] += weight[row][t] * values[i];
        }
      }
    }
  }
}

inline void attend_page(const PoolWord* k_pool, const PoolWord* v_pool, TileShape shape,
                        PageJob job, const QueryTile query, RowState peaks, RowState weight_sums,
                        OutputTile output) {
#pragma HLS dataflow
  WordStream k_words("k_words"), v_words("v_words");
  ScaleStream k_scales("k_scales"), v_scales("v_scales");
  TokenStream scores("scores"), weights("weights");
  RowStream shrinks("shrinks");
  load_page(k_pool, shape, job, k_words, k_scales);
  load_page(v_pool, shape, job, v_words, v_scales);
  score_page(k_words, k_scales, shape, job, query, scores);
  soften_page(scores, shape, job, peaks, weight_sums, weights, shrinks);
  accumulate_page(v_words, v_scales, weights, shrinks, shape, job, output);
}

}  // namespace attention_decode
}  // namespace tandem
