// SPDX-License-Identifier: Apache-2.0
//
// The stages that process pages of KV: load, score, softmax (online), accumulate.
//
// A tile is up to kTileRows query rows on chip, all of one KV head. attend_run() passes up to
// kJobBlock pages through all stages as one dataflow region. Each stage is one pipelined loop over
// all steps of the run, with counters of its own: inner loops whose trips vary would fill and drain
// a pipeline each time. Load: a word a cycle. Score, accumulate: a chunk of kRowLanes rows a cycle.
// Softmax: 8 cycles a row and page. FIFOs: 1,024 words of K and of V (URAM), 64 pairs of rows of
// scores and of weights. Source: online softmax, Milakov and Gimelshein, arXiv 1805.02867.
#pragma once

#include "hls_stream.h"
#include "numerics.h"

namespace tandem {
namespace attention_decode {

const int kTileRows = 16;  // query rows answered per read of K and V
const int kRowLanes = 2;   // rows that are processed at the same time
static_assert(kRowLanes == 2, "the unroll and partition pragmas below say 2");

const int kJobBlock = 256;  // pages of a sequence looked up, and processed, at a time
const int kDepthWords = 1024;
const int kDepthPages = 64;

// Steps that a token takes in `accumulate` at least. Tokens add to two sums in turn, so an addition
// starts 2 * kLeastSteps cycles after the last one to the same place: after its product and sum.
const std::uint32_t kLeastSteps = 6;
static_assert(2 * kLeastSteps >= 12, "the dependence pragma below says 12");

struct TileShape {
  std::uint32_t rows;
  std::uint32_t chunks;
  std::uint32_t kv_type;
};

// The blocks of this unit's pages, in token order.
typedef std::uint32_t Blocks[kJobBlock];

// The pages of a list. All but the last have the same number of tokens (1..16).
struct Run {
  std::uint32_t pages;
  std::uint32_t page_tokens;
  std::uint32_t last_tokens;
};

// A tile on chip: queries (scaled); per row the largest score so far and the sum of exp(score -
// largest); and the weighted sums of values. The sums of every second token are separate.
typedef float QueryTile[kTileRows][kMaxChunks][kChunk];
typedef float RowState[kTileRows];
typedef float OutputTile[2][kTileRows][kMaxChunks][kChunk];

// Of kRowLanes rows and one page. shrink: what multiplies all that the page's weights are added to.
struct PairScores {
  TokenLanes row[kRowLanes];
};
struct PairWeights {
  TokenLanes row[kRowLanes];
  float shrink[kRowLanes];
};

typedef hls::stream<PoolWord, kDepthWords> WordStream;
typedef hls::stream<PoolWord, kDepthPages> ScaleStream;
typedef hls::stream<PairScores, kDepthPages> ScoreStream;
typedef hls::stream<PairWeights, kDepthPages> WeightStream;

inline std::uint32_t pairs_of(TileShape shape) {
#pragma HLS inline
  return (shape.rows + kRowLanes - 1) / kRowLanes;
}

inline std::uint32_t tokens_of(Run run, std::uint32_t page) {
#pragma HLS inline
  return page + 1 == run.pages ? run.last_tokens : run.page_tokens;
}

inline std::uint32_t num_tokens(Run run) {
#pragma HLS inline
  return (run.pages - 1) * run.page_tokens + run.last_tokens;
}

// A page's block is looked up at its first word, so memory is not waited for between pages.
inline void load_pages(const PoolWord* pool, TileShape shape, const Blocks blocks, Run run,
                       WordStream& words, ScaleStream& scales) {
  const bool scaled = shape.kv_type == kI8;
  const std::uint32_t row_words = page_row_words(shape.kv_type, shape.chunks);
  const std::uint32_t last = run.page_tokens * row_words - (scaled ? 0 : 1);  // word of a page
  const std::uint32_t total = num_tokens(run) * row_words + (scaled ? run.pages : 0);
  std::uint32_t page = 0, begin = 0, k = 0;
load_words:
  for (std::uint32_t i = 0; i < total; ++i) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 16 max = 32768
    if (k == 0) begin = blocks[page++];
    const PoolWord word = pool[begin + k];
    if (scaled && k == 0) {
      scales.write(word);
    } else {
      words.write(word);
    }
    k = k == last ? 0 : k + 1;
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

// Of a turn without a token.
inline void clear_values(float values[kChunk]) {
#pragma HLS inline
  for (int i = 0; i < kChunk; ++i) {
#pragma HLS unroll
    values[i] = 0.0f;
  }
}

// The sum of the scores of chunks 0 .. `chunk`, whose own is `last`.
inline float sum_of_chunks(const float partial[kMaxChunks], std::uint32_t chunk, float last) {
#pragma HLS inline
  float sum = 0.0f;
  for (std::uint32_t i = 0; i < kMaxChunks; ++i) {
#pragma HLS unroll
    sum += i < chunk ? partial[i] : (i == chunk ? last : 0.0f);
  }
  return sum;
}

// Where a stage is: pair of rows within chunk within token within page; and the last of each. Small
// numbers, compared before they are counted on: the next place is there within a cycle.
struct Place {
  std::uint8_t pair, chunk, token, last_pair, last_chunk, last_token;
  std::uint16_t page;
};

inline Place first_place(std::uint32_t pairs, std::uint32_t chunks, std::uint32_t tokens) {
#pragma HLS inline
  Place place = Place();
  place.last_pair = static_cast<std::uint8_t>(pairs - 1);
  place.last_chunk = static_cast<std::uint8_t>(chunks - 1);
  place.last_token = static_cast<std::uint8_t>(tokens - 1);
  return place;
}

// `tokens`: of the next page.
inline void advance(Place& place, std::uint32_t tokens) {
#pragma HLS inline
  const bool pair_ends = place.pair == place.last_pair;
  const bool token_ends = pair_ends & (place.chunk == place.last_chunk);
  const bool page_ends = token_ends & (place.token == place.last_token);
  const std::uint8_t chunk = place.chunk == place.last_chunk ? 0 : place.chunk + 1;
  const std::uint8_t token = place.token == place.last_token ? 0 : place.token + 1;
  place.pair = pair_ends ? 0 : place.pair + 1;
  place.chunk = pair_ends ? chunk : place.chunk;
  place.token = token_ends ? token : place.token;
  place.last_token = page_ends ? tokens - 1 : place.last_token;
  place.page += page_ends ? 1 : 0;
}

// Computes the score of every row for every token of each page.
inline void score_pages(WordStream& words, ScaleStream& scales, TileShape shape, Run run,
                        const QueryTile query, ScoreStream& scores) {
  // scores of the current token's chunks, and of the page's tokens
  float partial[kTileRows][kMaxChunks], score[kTileRows][kPageRows];
#pragma HLS array_partition variable = partial dim = 2 complete
#pragma HLS array_partition variable = partial dim = 1 cyclic factor = 2
#pragma HLS array_partition variable = score dim = 2 complete
#pragma HLS array_partition variable = score dim = 1 cyclic factor = 2
  float keys[kChunk];
#pragma HLS array_partition variable = keys complete
  PoolWord word;
  TokenLanes scale;
  const std::uint32_t pairs = pairs_of(shape);
  Place at = first_place(pairs, shape.chunks, tokens_of(run, 0));
  PairScores out = PairScores();
score_steps:
  for (std::uint32_t step = 0; step < num_tokens(run) * shape.chunks * pairs; ++step) {
#pragma HLS pipeline II = 1
#pragma HLS loop_tripcount min = 16 max = 262144
    if (at.pair == 0) {
      if (at.chunk == 0 && at.token == 0) scale = token_scales(shape.kv_type, scales);
      next_chunk(words, shape.kv_type, at.chunk, word, keys);
    }
    const bool is_last = at.chunk == at.last_chunk;
    for (std::uint32_t lane = 0; lane < kRowLanes; ++lane) {
#pragma HLS unroll
      const std::uint32_t row = at.pair * kRowLanes + lane;
      if (row >= shape.rows) continue;
      const float dot = dot_of_chunk(keys, query[row][at.chunk]);
      partial[row][at.chunk] = dot;
      if (!is_last) continue;
      const float whole = sum_of_chunks(partial[row], at.chunk, dot) * scale[at.token];
      score[row][at.token] = whole;
      for (std::uint32_t t = 0; t < kPageRows; ++t) {
#pragma HLS unroll
        out.row[lane][t] = t < at.token ? score[row][t] : (t == at.token ? whole : 0.0f);
      }
    }
    if (is_last && at.token == at.last_token) scores.write(out);
    advance(at, tokens_of(run, at.page + 1));
  }
}

// The largest score of a page's tokens. A NaN is not larger than anything; it reaches the sum
// through its weight.
inline float largest_of(const TokenLanes& score, std::uint32_t tokens) {
#pragma HLS inline
  const float kLowest = bits_to_float(0xff800000u);  // -infinity
  float lanes[kPageRows];
#pragma HLS array_partition variable = lanes complete
  for (std::uint32_t t = 0; t < kPageRows; ++t) {
#pragma HLS unroll
    lanes[t] = t < tokens && score[t] > kLowest ? score[t] : kLowest;
  }
  for (std::uint32_t half = kPageRows / 2; half > 0; half /= 2) {
#pragma HLS unroll
    for (std::uint32_t t = 0; t < half; ++t) {
#pragma HLS unroll
      lanes[t] = lanes[t] > lanes[t + half] ? lanes[t] : lanes[t + half];
    }
  }
  return lanes[0];
}

// Turns scores into weights exp(score - peak) with the new peak. Also writes the factor by which
// all that was accumulated with the old peak is multiplied. A pair has two rows, also where the
// tile has one: so a row's sum is needed two steps later.
inline void softmax_pages(ScoreStream& scores, TileShape shape, Run run, RowState peaks,
                          RowState weight_sums, WeightStream& weights) {
  const std::uint32_t rows = pairs_of(shape) * kRowLanes;
  std::uint32_t page = 0, row = 0;
  PairScores in = PairScores();
  PairWeights out = PairWeights();
softmax_steps:
  for (std::uint32_t step = 0; step < run.pages * rows; ++step) {
#pragma HLS pipeline II = 8
#pragma HLS dependence variable = weight_sums type = inter direction = RAW distance = 2 true
#pragma HLS loop_tripcount min = 2 max = 4096
    const std::uint32_t lane = row % kRowLanes;
    const std::uint32_t tokens = tokens_of(run, page);
    if (lane == 0) in = scores.read();
    if (row < shape.rows) {
      const TokenLanes score = in.row[lane];
      const float old_peak = peaks[row];
      const float largest = largest_of(score, tokens);
      const float peak = largest > old_peak ? largest : old_peak;
      for (std::uint32_t t = 0; t < kPageRows; ++t) {
#pragma HLS unroll
        const float e = exp_of(score[t] - peak);
        out.row[lane][t] = t < tokens ? e : 0.0f;
      }
      float sum = 0.0f;
      for (std::uint32_t t = 0; t < kPageRows; ++t) {
#pragma HLS unroll
        sum += out.row[lane][t];
      }
      const float shrink = exp_of(old_peak - peak);
      out.shrink[lane] = shrink;
      peaks[row] = peak;
      weight_sums[row] = weight_sums[row] * shrink + sum;
    }
    if (lane + 1 == kRowLanes) weights.write(out);
    page += row + 1 == rows ? 1 : 0;
    row = row + 1 == rows ? 0 : row + 1;
  }
}

// The turns of `accumulate`: a page has at least two, a turn at least kLeastSteps.
inline std::uint32_t turns_of(Run run, std::uint32_t page) {
#pragma HLS inline
  const std::uint32_t tokens = tokens_of(run, page);
  return tokens < 2 ? 2 : tokens;
}

inline std::uint32_t num_turns(Run run) {
#pragma HLS inline
  const std::uint32_t full = run.page_tokens < 2 ? 2 : run.page_tokens;
  return (run.pages - 1) * full + (run.last_tokens < 2 ? 2 : run.last_tokens);
}

inline std::uint32_t turn_chunks(std::uint32_t chunks, std::uint32_t pairs) {
#pragma HLS inline
  const std::uint32_t least = (kLeastSteps + pairs - 1) / pairs;
  return chunks < least ? least : chunks;
}

// Adds weight * values to the sums of one row and chunk. shrinks: first multiplies them.
inline void add_values(float sums[kChunk], const float values[kChunk], float weight, bool shrinks,
                       float shrink) {
#pragma HLS inline
  for (int i = 0; i < kChunk; ++i) {
#pragma HLS unroll
    const float product = weight * values[i];
#pragma HLS bind_op variable = product op = fmul impl = meddsp
    const float before = shrinks ? sums[i] * shrink : sums[i];
    sums[i] = before + product;
  }
}

// output = output * shrink + weights * values. The two sums take turns over all tokens of the run;
// the first two tokens of a page multiply them, so a page of one token has a turn without a token.
// Chunks beyond the row's make a turn of kLeastSteps.
inline void accumulate_pages(WordStream& words, ScaleStream& scales, WeightStream& weights,
                             TileShape shape, Run run, OutputTile output) {
  PairWeights weight[kTileRows / kRowLanes];
#pragma HLS array_partition variable = weight complete
  float values[kChunk];
#pragma HLS array_partition variable = values complete
  PoolWord word;
  TokenLanes scale;
  const std::uint32_t pairs = pairs_of(shape);
  const std::uint32_t chunks = turn_chunks(shape.chunks, pairs);
  std::uint32_t copy = 0;
  Place at = first_place(pairs, chunks, turns_of(run, 0));
accumulate_steps:
  for (std::uint32_t step = 0; step < num_turns(run) * chunks * pairs; ++step) {
#pragma HLS pipeline II = 1
#pragma HLS dependence variable = output type = inter direction = RAW distance = 12 true
#pragma HLS loop_tripcount min = 96 max = 262144
    const bool is_token = at.token < tokens_of(run, at.page);
    if (at.chunk == 0 && at.token == 0) {
      if (at.pair == 0) scale = token_scales(shape.kv_type, scales);
      weight[at.pair] = weights.read();
    }
    if (at.pair == 0 && at.chunk < shape.chunks) {
      if (is_token) {
        next_chunk(words, shape.kv_type, at.chunk, word, values);
      } else {
        clear_values(values);
      }
    }
    for (std::uint32_t lane = 0; lane < kRowLanes; ++lane) {
#pragma HLS unroll
      const std::uint32_t row = at.pair * kRowLanes + lane;
      if (row >= shape.rows || at.chunk >= shape.chunks) continue;
      const PairWeights& own = weight[at.pair];
      const float factor = is_token ? own.row[lane][at.token] * scale[at.token] : 0.0f;
      add_values(output[copy][row][at.chunk], values, factor, at.token < 2, own.shrink[lane]);
    }
    copy ^= at.pair == at.last_pair && at.chunk == at.last_chunk ? 1u : 0u;
    advance(at, turns_of(run, at.page + 1));
  }
}

// Processes one run of pages in all stages. The two lists are equal: each loader reads its own.
inline void attend_run(const PoolWord* k_pool, const PoolWord* v_pool, TileShape shape,
                       const Blocks k_blocks, const Blocks v_blocks, Run run, const QueryTile query,
                       RowState peaks, RowState weight_sums, OutputTile output) {
#pragma HLS dataflow
  WordStream k_words("k_words"), v_words("v_words");
#pragma HLS bind_storage variable = k_words type = fifo impl = uram
#pragma HLS bind_storage variable = v_words type = fifo impl = uram
  ScaleStream k_scales("k_scales"), v_scales("v_scales");
  ScoreStream scores("scores");
  WeightStream weights("weights");
  load_pages(k_pool, shape, k_blocks, run, k_words, k_scales);
  load_pages(v_pool, shape, v_blocks, run, v_words, v_scales);
  score_pages(k_words, k_scales, shape, run, query, scores);
  softmax_pages(scores, shape, run, peaks, weight_sums, weights);
  accumulate_pages(v_words, v_scales, weights, shape, run, output);
}

}  // namespace attention_decode
}  // namespace tandem
