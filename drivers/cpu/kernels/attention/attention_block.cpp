// SPDX-License-Identifier: Apache-2.0
//
// attend_tiles() for AVX-512, AVX2, NEON and scalar, chosen at run time.
//
// Scores: for each dimension a few vectors of K values, converted once and multiplied into the
// accumulators of the rows. Softmax: the peak of a row changes, and sums are rescaled, only when a
// score exceeds it by more than kSlack; until then weights may grow to exp(kSlack). Output: for a
// strip of dimensions the accumulators of all rows stay in registers during the loop over the
// tokens of all tiles. Trip counts are compile-time constants except for odd tiles. Each cache line
// in use prefetches one line of the next tile, so that arithmetic hides the memory latency.
#include "cpu/kernels/attention/attention_block.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/attention/attention_block.cpp"
#include "hwy/foreach_target.h"
//
#include "cpu/kernels/attention/kv_types-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kTile = kTileTokens;
constexpr std::size_t kParts = kTile / kLanes;  // vectors per 16 tokens
constexpr std::size_t kRowScores = kMaxTiles * kTile;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr float kSlack = 8.0f;
constexpr std::size_t kLine = 64;

// f32 tiles are copies in the cache already.
template <typename T>
constexpr bool kFetches = !std::is_same_v<T, float>;

template <typename T>
HWY_INLINE void fetch(const T* at) {
  __builtin_prefetch(at, 0, 3);
}

// Scores of kWide vectors of tokens at once: each q value is loaded once for all of them. With few
// rows, several chains per row hide the latency of multiply-add.
template <int kRows, int kWide, typename T>
HWY_INLINE void score_vectors(const AttentionRows& rows, const T* const* k, const T* const* next,
                              bool first_part, float* score) {
  constexpr int kSums = kRows * kWide;
  constexpr int kChains = kSums >= static_cast<int>(kRegisters) / 2 ? 1 : kSums >= 4 ? 2 : 4;
  constexpr int kPerLine = std::max<int>(1, kLine / (kTile * sizeof(T)));
  constexpr int kStep = std::max(kChains, kPerLine);
  Vec sums[kChains][kWide][kRows];
  for (auto& chain : sums) {
    for (auto& vector : chain) {
      for (Vec& sum : vector) sum = hn::Zero(kF);
    }
  }
  for (std::size_t d = 0; d < rows.stride; d += kStep) {
    for (int u = 0; u < kStep; ++u) {
      if (kFetches<T> && first_part && u % kPerLine == 0) {
        for (int w = 0; w < kWide; ++w) fetch(next[w] + (d + u) * kTile);
      }
      Vec keys[kWide];
      for (int w = 0; w < kWide; ++w) keys[w] = load_kv(k[w] + (d + u) * kTile);
      for (int r = 0; r < kRows; ++r) {
        const Vec q = broadcast(rows.q[r * rows.stride + d + u]);
        Vec(&sum)[kWide][kRows] = sums[u % kChains];
        for (int w = 0; w < kWide; ++w) sum[w][r] = hn::MulAdd(q, keys[w], sum[w][r]);
      }
    }
  }
  for (int w = 0; w < kWide; ++w) {
    for (int r = 0; r < kRows; ++r) {
      Vec sum = sums[0][w][r];
      for (int u = 1; u < kChains; ++u) sum = hn::Add(sum, sums[u][w][r]);
      store(sum, score + r * kRowScores + w * kTile);
    }
  }
}

// Applies the scales of K and the cap, and hides the slots that the tile does not show.
template <int kRows, typename T>
HWY_INLINE void finish_scores(const AttentionRows& rows, const KvTile& tile, float* score) {
  for (int r = 0; r < kRows; ++r, score += kRowScores) {
    for (std::size_t t = 0; t < kTile; t += kLanes) {
      Vec s = load(score + t);
      if (tile.k_scale != nullptr) {
        s = hn::Mul(s, hn::Mul(load(tile.k_scale + t), broadcast(kUnit<T>)));
      }
      if (rows.softcap > 0) s = cap_softly(s, broadcast(rows.softcap));
      store(s, score + t);
    }
    for (int t = 0; t < tile.begin; ++t) score[t] = kMinusInfinity;
    for (std::size_t t = tile.end; t < kTile; ++t) score[t] = kMinusInfinity;
  }
}

template <int kRows, int kTiles, typename T>
HWY_INLINE void score_tiles(const AttentionRows& rows, const KvTile* tiles, const KvTile* next,
                            float* score /* [kRows, kRowScores] */) {
  constexpr int kWide = kRows * 2 + 3 <= static_cast<int>(kRegisters) && kTiles % 2 == 0 ? 2 : 1;
  for (int i = 0; i < kTiles; i += kWide) {
    for (std::size_t part = 0; part < kParts; ++part) {
      const T *k[kWide], *next_k[kWide];
      for (int w = 0; w < kWide; ++w) {
        k[w] = static_cast<const T*>(tiles[i + w].k) + part * kLanes;
        next_k[w] = static_cast<const T*>(next[i + w].k);
      }
      score_vectors<kRows, kWide, T>(rows, k, next_k, part == 0, score + i * kTile + part * kLanes);
    }
  }
  for (int i = 0; i < kTiles; ++i) {
    const KvTile& tile = tiles[i];
    const bool whole = tile.begin == 0 && tile.end == static_cast<int>(kTile);
    if (whole && tile.k_scale == nullptr && rows.softcap == 0) continue;
    finish_scores<kRows, T>(rows, tile, score + i * kTile);
  }
}

HWY_INLINE void rescale(float* acc, std::size_t stride, float factor) {
  const Vec f = broadcast(factor);
  for (std::size_t d = 0; d < stride; d += kLanes) store(hn::Mul(load(acc + d), f), acc + d);
}

// Moves the row's peak up to the highest score where that is more than kSlack above it.
HWY_INLINE void raise_peak(const AttentionRows& rows, int r, Vec top) {
  const float before = rows.peak[r], now = max_of_lanes(top);
  if (!(now > before)) return;
  const float factor = std::exp(before - now);  // 0 at the start
  rescale(rows.sum + r * kTile, kTile, factor);
  rescale(rows.acc + r * rows.stride, rows.stride, factor);
  rows.peak[r] = now;
}

// Turns one row of scores into weights exp(score - peak), updating the row's state.
template <int kTiles, typename T>
HWY_INLINE void soften_row(const AttentionRows& rows, int r, const KvTile* tiles,
                           float* weight /* [kTiles * 16] */) {
  constexpr std::size_t kCount = kTiles * kTile;
  if (rows.seen != nullptr) {
    for (int t = 0; t < rows.seen[r].begin; ++t) weight[t] = kMinusInfinity;
    for (std::size_t t = rows.seen[r].end; t < kCount; ++t) weight[t] = kMinusInfinity;
  }
  Vec top = load(weight);
  for (std::size_t t = kLanes; t < kCount; t += kLanes) top = hn::Max(top, load(weight + t));
  if (!hn::AllTrue(kF, hn::Le(top, broadcast(rows.peak[r] + kSlack)))) raise_peak(rows, r, top);
  // Where no score was above -inf yet, subtracting 0 keeps the weights 0.
  const Vec shift = broadcast(rows.peak[r] == kMinusInfinity ? 0.0f : rows.peak[r]);
  float* sums = rows.sum + r * kTile;
  for (std::size_t lane = 0; lane < kTile; lane += kLanes) {
    Vec sum = load(sums + lane);
    for (std::size_t t = lane; t < kCount; t += kTile) {
      const Vec w = exp(hn::Sub(load(weight + t), shift));
      sum = hn::Add(sum, w);
      const float* scale = tiles[t / kTile].v_scale;
      store(scale == nullptr ? w : hn::Mul(w, hn::Mul(load(scale + lane), broadcast(kUnit<T>))),
            weight + t);
    }
    store(sum, sums + lane);
  }
}

// Adds the tokens of one strip of V.
template <int kRows, int kStrip, typename T>
HWY_INLINE void add_tokens(const T* v, std::size_t width, SlotRange tokens, const T* next,
                           const float* weight, Vec (&acc)[kRows][kStrip]) {
  constexpr std::size_t kValues = kStrip * kLanes;
  constexpr int kSteps = std::max<int>(1, kLine / (kValues * sizeof(T)));  // per line
  for (int t = tokens.begin; t < tokens.end; ++t) {
    if (kFetches<T> && t % kSteps == 0) {
      for (std::size_t at = 0; at < kValues; at += kLine / sizeof(T)) {
        fetch(next + t * kValues + at);
      }
    }
    Vec value[kStrip];
    for (int c = 0; c < kStrip; ++c) value[c] = load_kv(v + t * width + c * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const Vec factor = broadcast(weight[r * kRowScores + t]);
      for (int c = 0; c < kStrip; ++c) acc[r][c] = hn::MulAdd(factor, value[c], acc[r][c]);
    }
  }
}

// Prefetches the next tile in step with the strips: after as many bytes of strips, the same number
// of its bytes. So all of it is fetched, in any order of its values.
template <int kRows, int kStrip, int kTiles, typename T>
HWY_INLINE void add_strip(const AttentionRows& rows, const KvTile* tiles, const KvTile* next,
                          std::size_t d, const float* weight) {
  const std::size_t width = v_width(rows.stride, d);
  Vec acc[kRows][kStrip];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kStrip; ++c) acc[r][c] = load(rows.acc + r * rows.stride + d + c * kLanes);
  }
  for (int i = 0; i < kTiles; ++i) {
    const T* v = static_cast<const T*>(tiles[i].v) + v_index(rows.stride, 0, d);
    const T* next_v = static_cast<const T*>(next[i].v) + d * kTile;
    const float* w = weight + i * kTile;
    if (tiles[i].begin == 0 && tiles[i].end == kTileTokens && width == kStripDims) {
      add_tokens<kRows, kStrip, T>(v, kStripDims, {0, kTileTokens}, next_v, w, acc);
    } else {
      add_tokens<kRows, kStrip, T>(v, width, {tiles[i].begin, tiles[i].end}, next_v, w, acc);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kStrip; ++c) store(acc[r][c], rows.acc + r * rows.stride + d + c * kLanes);
  }
}

// Widest strip whose accumulators leave room for the values: 16 of 32 registers, or 8 of 16.
template <int kRows>
constexpr int kStripVectors = kRows >= 5   ? static_cast<int>(kRegisters) / 16
                              : kRows >= 3 ? static_cast<int>(kRegisters) / 8
                                           : 4;

template <int kRows, int kTiles, typename T>
void attend_rows(const AttentionRows& rows, const KvTile* tiles, const KvTile* next) {
  HWY_ALIGN float weight[kRows * kRowScores];
  score_tiles<kRows, kTiles, T>(rows, tiles, next, weight);
  for (int r = 0; r < kRows; ++r) {
    soften_row<kTiles, T>(rows, r, tiles, weight + r * kRowScores);
  }
  constexpr int kStrip = kStripVectors<kRows>;
  std::size_t d = 0;
  for (; d + kStrip * kLanes <= rows.stride; d += kStrip * kLanes) {
    add_strip<kRows, kStrip, kTiles, T>(rows, tiles, next, d, weight);
  }
  for (; d < rows.stride; d += kLanes) {
    add_strip<kRows, 1, kTiles, T>(rows, tiles, next, d, weight);
  }
}

template <int kRows, typename T>
void attend_count(const AttentionRows& rows, const KvTile* tiles, int num_tiles,
                  const KvTile* next) {
  if constexpr (!kFetches<T>) {
    if (num_tiles == 4) return attend_rows<kRows, 4, T>(rows, tiles, next);
  }
  if (num_tiles == 2) return attend_rows<kRows, 2, T>(rows, tiles, next);
  attend_rows<kRows, 1, T>(rows, tiles, next);
}

template <typename T>
void attend_typed(const AttentionRows& rows, const KvTile* tiles, int num_tiles,
                  const KvTile* next) {
  switch (rows.rows) {
    case 1:
      return attend_count<1, T>(rows, tiles, num_tiles, next);
    case 2:
      return attend_count<2, T>(rows, tiles, num_tiles, next);
    case 3:
      return attend_count<3, T>(rows, tiles, num_tiles, next);
    case 4:
      return attend_count<4, T>(rows, tiles, num_tiles, next);
    case 5:
      return attend_count<5, T>(rows, tiles, num_tiles, next);
    case 6:
      return attend_count<6, T>(rows, tiles, num_tiles, next);
    case 7:
      return attend_count<7, T>(rows, tiles, num_tiles, next);
    default:
      return attend_count<8, T>(rows, tiles, num_tiles, next);
  }
}

template <typename T>
void expand_typed(const KvTile& tile, std::size_t stride, float* k, float* v) {
  const T* from_k = static_cast<const T*>(tile.k);
  const T* from_v = static_cast<const T*>(tile.v);
  const auto scale_of = [&](const float* scales, std::size_t t) {
    return scales == nullptr ? 1.0f : scales[t] * kUnit<T>;
  };
  HWY_ALIGN float k_scale[kTile];
  for (std::size_t t = 0; t < kTile; ++t) k_scale[t] = scale_of(tile.k_scale, t);
  for (std::size_t d = 0; d < stride; ++d, k += kTile) {
    for (std::size_t t = 0; t < kTile; t += kLanes) {
      store(hn::Mul(load_kv(from_k + d * kTile + t), load(k_scale + t)), k + t);
    }
    std::fill(k, k + tile.begin, 0.0f);
    std::fill(k + tile.end, k + kTile, 0.0f);
  }
  for (std::size_t t = 0; t < kTile; ++t) {
    const bool seen = static_cast<int>(t) >= tile.begin && static_cast<int>(t) < tile.end;
    const Vec scale = broadcast(scale_of(tile.v_scale, t));
    for (std::size_t d = 0; d < stride; d += kLanes) {
      const std::size_t at = v_index(stride, t, d);
      store(seen ? hn::Mul(load_kv(from_v + at), scale) : hn::Zero(kF), v + at);
    }
  }
}

}  // namespace

void attend(DType type, const AttentionRows& rows, const KvTile* tiles, int num_tiles,
            const KvTile* next) {
  switch (type) {
    case DType::kF16:
      return attend_typed<F16>(rows, tiles, num_tiles, next);
    case DType::kBF16:
      return attend_typed<BF16>(rows, tiles, num_tiles, next);
    case DType::kI8:
      return attend_typed<std::int8_t>(rows, tiles, num_tiles, next);
    case DType::kF8E4M3:
      return attend_typed<F8>(rows, tiles, num_tiles, next);
    default:
      return attend_typed<float>(rows, tiles, num_tiles, tiles);
  }
}

void expand(DType type, const KvTile& tile, std::size_t stride, float* k, float* v) {
  switch (type) {
    case DType::kF16:
      return expand_typed<F16>(tile, stride, k, v);
    case DType::kBF16:
      return expand_typed<BF16>(tile, stride, k, v);
    case DType::kI8:
      return expand_typed<std::int8_t>(tile, stride, k, v);
    case DType::kF8E4M3:
      return expand_typed<F8>(tile, stride, k, v);
    default:
      return expand_typed<float>(tile, stride, k, v);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::device::cpu {
HWY_EXPORT(attend);
HWY_EXPORT(expand);

void attend_tiles(DType type, const AttentionRows& rows, const KvTile* tiles, int num_tiles,
                  const KvTile* next) {
  HWY_DYNAMIC_DISPATCH(attend)(type, rows, tiles, num_tiles, next);
}

void expand_tile(DType type, const KvTile& tile, std::size_t stride, float* k, float* v) {
  HWY_DYNAMIC_DISPATCH(expand)(type, tile, stride, k, v);
}

}  // namespace tandem::device::cpu
#endif  // HWY_ONCE
