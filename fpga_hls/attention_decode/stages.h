// SPDX-License-Identifier: Apache-2.0
//
// The stages that process pages of KV: load, score, softmax (online), accumulate.
//
// A tile is up to kTileRows query rows on chip, all of one KV head. attend_run() passes up to
// kRunPages pages through all stages as one dataflow region: a page loads while an earlier one is
// scored and a still earlier one accumulated. Each stream holds what a whole run writes, so the
// stages can also run one after the other on a CPU. Per 64-byte word: load II = 1; score and
// accumulate take ceil(rows / kRowLanes) cycles a chunk, II = 1 where 2 * chunks * ceil(rows /
// kRowLanes) covers the adder's latency; softmax takes 8 cycles a row and page. FIFOs: 2,048 words
// of K and of V (URAM), 256 rows of scores and of weights. Source: online softmax, Milakov and
// Gimelshein, arXiv 1805.02867.
#pragma once

#include "ap_int.h"
#include "hls_stream.h"
#include "numerics.h"

namespace tandem {
namespace attention_decode {

const int kTileRows = 16;  // query rows answered per read of K and V
const int kRowLanes = 2;   // rows that are processed at the same time
static_assert(kRowLanes == 2, "the unroll and partition pragmas below say 2");

const int kJobBlock = 256;  // pages of a sequence looked up at a time
const int kRunPages = 16;   // pages in one dataflow region
const int kRunWords = kRunPages * kPageRows * kMaxChunks;

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

// Pages [begin, begin + count) of a job list.
struct Run {
  std::uint32_t begin;
  std::uint32_t count;
};

// A tile on chip: queries (scaled); per row the largest score so far and the sum of exp(score -
// largest); and the weighted sums of values. Sums of even and odd tokens are separate, which
// doubles the distance between additions to the same place.
typedef float QueryTile[kTileRows][kMaxChunks][kChunk];
typedef float RowState[kTileRows];
typedef float OutputTile[2][kTileRows][kMaxChunks][kChunk];

typedef hls::stream<PoolWord, kRunWords> WordStream;
typedef hls::stream<PoolWord, kRunPages> ScaleStream;
typedef hls::stream<ap_uint<5>, kRunPages> CountStream;  // tokens of each page
typedef hls::stream<TokenLanes, kRunPages * kTileRows> TokenStream;
typedef hls::stream<float, kRunPages * kTileRows> RowStream;

inline void load_pages(const PoolWord* pool, TileShape shape, const PageJob jobs[kJobBlock],
                       Run run, WordStream& words, ScaleStream& scales, CountStream& counts) {
  const std::uint32_t row_words = page_row_words(shape.kv_type, shape.chunks);
load_pages:
  for (std::uint32_t page = 0; page < run.count; ++page) {
#pragma HLS loop_tripcount min = 1 max = 16
    const PageJob job = jobs[run.begin + page];
    std::uint32_t begin = job.block_word;
    counts.write(job.tokens);
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
}

// Reads the scale of every token of the page; 1 for f16.
inline TokenLanes token_scales(std::uint32_t kv_type, ScaleStream& scales) {
#pragma HLS inline
  TokenLanes lanes(1.0f);
  if (kv_type != kI8) return lanes;
  const PoolWord word = scales.read();
  for (int t = 0; t < kPageRows; ++t) {
#pragma HLS unroll
    lanes[t] = bits_to_float(word[t] | (static_cast<std::uint32_t>(word[kPageRows + t]) << 16));
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

inline float dot_of_chunk(const float keys[kChunk], const float query[kChunk]) {
#pragma HLS inline
  float product[kChunk];
#pragma HLS array_partition variable = product complete
#pragma HLS bind_op variable = product op = fmul impl = meddsp
  for (int i = 0; i < kChunk; ++i) {
#pragma HLS unroll
    product[i] = keys[i] * query[i];
  }
  return sum_of_lanes(product);
}

inline float sum_of_chunks(const float partial[kMaxChunks], std::uint32_t chunks) {
#pragma HLS inline
  float sum = 0.0f;
  for (std::uint32_t i = 0; i < kMaxChunks; ++i) {
#pragma HLS unroll
    sum += i < chunks ? partial[i] : 0.0f;
  }
  return sum;
}

// Computes the score of every row for every token of each page.
inline void score_pages(WordStream& words, ScaleStream& scales, CountStream& counts,
                        TileShape shape, Run run, const QueryTile query, TokenStream& scores,
                        CountStream& counts_on) {
  // partial scores of the current token; added when its row is complete
  float partial[kTileRows][kMaxChunks];
#pragma HLS array_partition variable = partial dim = 2 complete
#pragma HLS array_partition variable = partial dim = 1 cyclic factor = 2
  TokenLanes score[kTileRows];
#pragma HLS array_partition variable = score dim = 1 cyclic factor = 2
  PoolWord word;
score_pages:
  for (std::uint32_t page = 0; page < run.count; ++page) {
#pragma HLS loop_tripcount min = 1 max = 16
    const ap_uint<5> count = counts.read();
    const std::uint32_t tokens = count.to_uint();
    const TokenLanes scale = token_scales(shape.kv_type, scales);
    counts_on.write(count);
  score_tokens:
    for (std::uint32_t t = 0; t < tokens; ++t) {
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
#pragma HLS unroll factor = 2
#pragma HLS loop_tripcount min = 1 max = 16
          partial[row][c] = dot_of_chunk(keys, query[row][c]);
          if (c + 1 == shape.chunks) {
            score[row][t] = sum_of_chunks(partial[row], shape.chunks) * scale[t];
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
}

// Turns scores into weights exp(score - peak) with the new peak. Also writes the factor by which
// all that was accumulated with the old peak is multiplied.
inline void softmax_pages(TokenStream& scores, CountStream& counts, TileShape shape, Run run,
                          RowState peaks, RowState weight_sums, TokenStream& weights,
                          RowStream& shrinks) {
softmax_pages:
  for (std::uint32_t page = 0; page < run.count; ++page) {
#pragma HLS loop_tripcount min = 1 max = 16
    const int tokens = counts.read().to_int();
  softmax_rows:
    for (std::uint32_t row = 0; row < shape.rows; ++row) {
#pragma HLS pipeline II = 8
#pragma HLS loop_tripcount min = 1 max = 16
      const TokenLanes score = scores.read();
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
}

// Reads the page's weights, multiplied by the scales of its values, and applies the factor of each
// row to its sums.
inline void shrink_rows(TokenStream& weights, RowStream& shrinks, const TokenLanes& scale,
                        TileShape shape, std::uint32_t tokens, TokenLanes weight[kTileRows],
                        OutputTile output) {
#pragma HLS inline
shrink_rows:
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
#pragma HLS loop_tripcount min = 1 max = 16
    TokenLanes scaled = weights.read();
    for (int t = 0; t < kPageRows; ++t) {
#pragma HLS unroll
      scaled[t] *= t < static_cast<int>(tokens) ? scale[t] : 1.0f;
    }
    weight[row] = scaled;
    const float shrink = shrinks.read();
    if (shrink == 1.0f) continue;  // the peak did not change, as for most pages
  shrink_chunks:
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
}

// output = output * shrink + weights * values.
inline void accumulate_pages(WordStream& words, ScaleStream& scales, CountStream& counts,
                             TokenStream& weights, RowStream& shrinks, TileShape shape, Run run,
                             OutputTile output) {
  TokenLanes weight[kTileRows];
#pragma HLS array_partition variable = weight dim = 1 cyclic factor = 2
  PoolWord word;
accumulate_pages:
  for (std::uint32_t page = 0; page < run.count; ++page) {
#pragma HLS loop_tripcount min = 1 max = 16
    const std::uint32_t tokens = counts.read().to_uint();
    const TokenLanes scale = token_scales(shape.kv_type, scales);
    shrink_rows(weights, shrinks, scale, shape, tokens, weight, output);
  value_tokens:
    for (std::uint32_t t = 0; t < tokens; ++t) {
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
#pragma HLS unroll factor = 2
#pragma HLS loop_tripcount min = 1 max = 16
          float* sums = output[t & 1u][row][c];
          for (int i = 0; i < kChunk; ++i) {
#pragma HLS unroll
            const float product = weight[row][t] * values[i];
#pragma HLS bind_op variable = product op = fmul impl = meddsp
            sums[i] += product;
          }
        }
      }
    }
  }
}

// Processes one run of pages in all stages. The two job lists are equal: each loader reads its own.
inline void attend_run(const PoolWord* k_pool, const PoolWord* v_pool, TileShape shape,
                       const PageJob k_jobs[kJobBlock], const PageJob v_jobs[kJobBlock], Run run,
                       const QueryTile query, RowState peaks, RowState weight_sums,
                       OutputTile output) {
#pragma HLS dataflow
  WordStream k_words("k_words"), v_words("v_words");
#pragma HLS bind_storage variable = k_words type = fifo impl = uram
#pragma HLS bind_storage variable = v_words type = fifo impl = uram
  ScaleStream k_scales("k_scales"), v_scales("v_scales");
  CountStream k_counts("k_counts"), v_counts("v_counts"), score_counts("score_counts");
  TokenStream scores("scores"), weights("weights");
  RowStream shrinks("shrinks");
  load_pages(k_pool, shape, k_jobs, run, k_words, k_scales, k_counts);
  load_pages(v_pool, shape, v_jobs, run, v_words, v_scales, v_counts);
  score_pages(k_words, k_scales, k_counts, shape, run, query, scores, score_counts);
  softmax_pages(scores, score_counts, shape, run, peaks, weight_sums, weights, shrinks);
  accumulate_pages(v_words, v_scales, v_counts, weights, shrinks, shape, run, output);
}

}  // namespace attention_decode
}  // namespace tandem
