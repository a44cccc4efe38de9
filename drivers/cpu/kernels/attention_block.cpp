// SPDX-License-Identifier: Apache-2.0
//
// attend_tiles() for AVX-512, AVX2 and scalar, chosen at run time.
//
// Scores: for each dimension two vectors of K values, converted once and multiplied into the rows'
// accumulators. Softmax: the peak of a row moves, and what has been added up is rescaled, only when
// a score exceeds it by more than kSlack; until then weights may grow to exp(kSlack). Output: for a
// strip of dimensions the accumulators of all rows stay in registers while the tokens of all tiles
// pass by.
#include "cpu/kernels/attention_block.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/attention_block.cpp"
#include "hwy/foreach_target.h"
//
#include "cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE Vec load_kv(const float* from) { return load(from); }
HWY_INLINE Vec load_kv(const std::uint16_t* from) { return load_f16(from); }
HWY_INLINE Vec load_kv(const std::int8_t* from) { return load_i8(from); }

constexpr std::size_t kTile = kTileTokens;
constexpr std::size_t kParts = kTile / kLanes;  // vectors per 16 tokens
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr float kSlack = 8.0f;
constexpr std::size_t kLine = 64;

constexpr std::size_t kAhead = 2048;

// Before the values at `here + at` of this tile are used, and where a cache line begins: asks for
// the same place of the next tile, and once more for a place a little ahead. The processor drops
// requests while too many are under way, which happens whenever computing is faster than the
// memory; the second one then comes in time. In a pool both follow the order of memory.
template <typename T>
HWY_INLINE void fetch(const T* here, const T* next, std::size_t at) {
  if (next == nullptr || at * sizeof(T) % kLine != 0) return;
  __builtin_prefetch(next + at, 0, 3);
  __builtin_prefetch(here + at + kAhead / sizeof(T), 0, 3);
}

// Scores of kWide vectors of tokens at once: each q value is loaded once for all of them. Several
// chains per row hide the latency of multiply-add behind few rows.
template <int kRows, int kWide, typename T>
HWY_INLINE void score_vectors(const AttentionRows& rows, const T* const (&k)[kWide],
                              const T* const (&next)[kWide], float* const (&score)[kWide]) {
  constexpr int kChains = kRows * kWide >= 8 ? 1 : kRows * kWide >= 4 ? 2 : 4;
  Vec sums[kChains][kWide][kRows];
  for (auto& chain : sums) {
    for (auto& vector : chain) {
      for (Vec& sum : vector) sum = hn::Zero(kF);
    }
  }
  for (std::size_t d = 0; d < rows.stride; d += kChains) {
    for (int u = 0; u < kChains; ++u) {
      for (int w = 0; w < kWide; ++w) fetch(k[w], next[w], (d + u) * kTile);
      Vec keys[kWide];
      for (int w = 0; w < kWide; ++w) keys[w] = load_kv(k[w] + (d + u) * kTile);
      for (int r = 0; r < kRows; ++r) {
        const Vec q = broadcast(rows.q[r * rows.stride + d + u]);
        for (int w = 0; w < kWide; ++w) sums[u][w][r] = hn::MulAdd(q, keys[w], sums[u][w][r]);
      }
    }
  }
  for (int w = 0; w < kWide; ++w) {
    for (int r = 0; r < kRows; ++r) {
      Vec sum = sums[0][w][r];
      for (int u = 1; u < kChains; ++u) sum = hn::Add(sum, sums[u][w][r]);
      store(sum, score[w] + r * kMaxTiles * kTile);
    }
  }
}

// Applies the scales of K and hides the slots behind the last token.
template <int kRows>
HWY_INLINE void finish_scores(const KvTile& tile, float* score) {
  for (int r = 0; r < kRows; ++r, score += kMaxTiles * kTile) {
    if (tile.k_scale != nullptr) {
      for (std::size_t t = 0; t < kTile; t += kLanes) {
        store(hn::Mul(load(score + t), load(tile.k_scale + t)), score + t);
      }
    }
    for (std::size_t t = tile.tokens; t < kTile; ++t) score[t] = kMinusInfinity;
  }
}

template <int kRows, typename T>
HWY_INLINE void score_tiles(const AttentionRows& rows, const KvTile* tiles, int num_tiles,
                            const KvTile* next, float* score /* [kRows, kMaxTiles * 16] */) {
  const T* k[kMaxTiles * kParts];
  const T* next_k[kMaxTiles * kParts];
  float* scores[kMaxTiles * kParts];
  const std::size_t vectors = num_tiles * kParts;
  for (std::size_t v = 0; v < vectors; ++v) {
    k[v] = static_cast<const T*>(tiles[v / kParts].k) + v % kParts * kLanes;
    const bool first = next != nullptr && v % kParts == 0;
    next_k[v] = first ? static_cast<const T*>(next[v / kParts].k) : nullptr;
    scores[v] = score + v * kLanes;
  }
  std::size_t v = 0;
  for (; v + 2 <= vectors; v += 2) {
    score_vectors<kRows, 2, T>(rows, {k[v], k[v + 1]}, {next_k[v], next_k[v + 1]},
                               {scores[v], scores[v + 1]});
  }
  if (v < vectors) score_vectors<kRows, 1, T>(rows, {k[v]}, {next_k[v]}, {scores[v]});
  for (int i = 0; i < num_tiles; ++i) finish_scores<kRows>(tiles[i], score + i * kTile);
}

HWY_INLINE void rescale(float* acc, std::size_t stride, float factor) {
  const Vec f = broadcast(factor);
  for (std::size_t d = 0; d < stride; d += kLanes) store(hn::Mul(load(acc + d), f), acc + d);
}

// Turns one row of scores into weights exp(score - peak), updating the row's state.
HWY_INLINE void soften_row(const AttentionRows& rows, int r, const KvTile* tiles, int num_tiles,
                           float* weight /* [num_tiles * 16] */) {
  const std::size_t count = num_tiles * kTile;
  Vec top = load(weight);
  for (std::size_t t = kLanes; t < count; t += kLanes) top = hn::Max(top, load(weight + t));
  float* sums = rows.sum + r * kTile;
  if (!hn::AllTrue(kF, hn::Le(top, broadcast(rows.peak[r] + kSlack)))) {
    const float before = rows.peak[r], now = max_of_lanes(top);
    if (now > before) {
      const float factor = std::exp(before - now);  // 0 at the start
      rescale(sums, kTile, factor);
      rescale(rows.acc + r * rows.stride, rows.stride, factor);
      rows.peak[r] = now;
    }
  }
  // Where no score was above -inf yet, subtracting 0 keeps the weights 0.
  const Vec shift = broadcast(rows.peak[r] == kMinusInfinity ? 0.0f : rows.peak[r]);
  Vec sum = load(sums);
  for (std::size_t t = 0; t < count; t += kLanes) {
    const Vec w = exp(hn::Sub(load(weight + t), shift));
    sum = hn::Add(sum, w);
    const float* scale = tiles[t / kTile].v_scale;
    store(scale == nullptr ? w : hn::Mul(w, load(scale + t % kTile)), weight + t);
  }
  store(sum, sums);
}

template <int kRows, int kStrip, typename T>
HWY_INLINE void add_strip(const AttentionRows& rows, const KvTile* tiles, int num_tiles,
                          const KvTile* next, std::size_t d, const float* weight) {
  const std::size_t width = v_width(rows.stride, d);
  Vec acc[kRows][kStrip];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kStrip; ++c) acc[r][c] = load(rows.acc + r * rows.stride + d + c * kLanes);
  }
  for (int i = 0; i < num_tiles; ++i) {
    const std::size_t begin = v_index(rows.stride, 0, d);
    const T* whole = static_cast<const T*>(tiles[i].v);
    const T* v = whole + begin;
    const T* next_v = next == nullptr ? nullptr : static_cast<const T*>(next[i].v);
    const float* w = weight + i * kTile;
    for (int t = 0; t < tiles[i].tokens; ++t, v += width) {
      for (int c = 0; c < kStrip; ++c) fetch(whole, next_v, begin + t * width + c * kLanes);
      Vec value[kStrip];
      for (int c = 0; c < kStrip; ++c) value[c] = load_kv(v + c * kLanes);
      for (int r = 0; r < kRows; ++r) {
        const Vec factor = broadcast(w[r * kMaxTiles * kTile + t]);
        for (int c = 0; c < kStrip; ++c) acc[r][c] = hn::MulAdd(factor, value[c], acc[r][c]);
      }
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

template <int kRows, typename T>
void attend_rows(const AttentionRows& rows, const KvTile* tiles, int num_tiles,
                 const KvTile* next) {
  if (num_tiles <= 0) return;
  HWY_ALIGN float weight[kRows * kMaxTiles * kTile];
  score_tiles<kRows, T>(rows, tiles, num_tiles, next, weight);
  for (int r = 0; r < kRows; ++r) {
    soften_row(rows, r, tiles, num_tiles, weight + r * kMaxTiles * kTile);
  }
  constexpr int kStrip = kStripVectors<kRows>;
  std::size_t d = 0;
  for (; d + kStrip * kLanes <= rows.stride; d += kStrip * kLanes) {
    add_strip<kRows, kStrip, T>(rows, tiles, num_tiles, next, d, weight);
  }
  for (; d < rows.stride; d += kLanes)
    add_strip<kRows, 1, T>(rows, tiles, num_tiles, next, d, weight);
}

template <typename T>
void attend_typed(const AttentionRows& rows, const KvTile* tiles, int num_tiles,
                  const KvTile* next) {
  switch (rows.rows) {
    case 1:
      return attend_rows<1, T>(rows, tiles, num_tiles, next);
    case 2:
      return attend_rows<2, T>(rows, tiles, num_tiles, next);
    case 3:
      return attend_rows<3, T>(rows, tiles, num_tiles, next);
    case 4:
      return attend_rows<4, T>(rows, tiles, num_tiles, next);
    case 5:
      return attend_rows<5, T>(rows, tiles, num_tiles, next);
    case 6:
      return attend_rows<6, T>(rows, tiles, num_tiles, next);
    case 7:
      return attend_rows<7, T>(rows, tiles, num_tiles, next);
    default:
      return attend_rows<8, T>(rows, tiles, num_tiles, next);
  }
}

template <typename T>
void expand_typed(const KvTile& tile, std::size_t stride, float* k, float* v) {
  const T* from_k = static_cast<const T*>(tile.k);
  const T* from_v = static_cast<const T*>(tile.v);
  for (std::size_t d = 0; d < stride; ++d) {
    for (std::size_t t = 0; t < kTile; t += kLanes) {
      const Vec value = load_kv(from_k + d * kTile + t);
      store(tile.k_scale == nullptr ? value : hn::Mul(value, load(tile.k_scale + t)),
            k + d * kTile + t);
    }
    for (std::size_t t = tile.tokens; t < kTile; ++t) k[d * kTile + t] = 0.0f;
  }
  for (std::size_t t = 0; t < kTile; ++t) {
    const bool held = t < static_cast<std::size_t>(tile.tokens);
    const Vec scale = broadcast(held && tile.v_scale != nullptr ? tile.v_scale[t] : 1.0f);
    for (std::size_t d = 0; d < stride; d += kLanes) {
      const std::size_t at = v_index(stride, t, d);
      store(held ? hn::Mul(load_kv(from_v + at), scale) : hn::Zero(kF), v + at);
    }
  }
}

}  // namespace

void attend(DType type, const AttentionRows& rows, const KvTile* tiles, int num_tiles,
            const KvTile* next) {
  if (type == DType::kF16) return attend_typed<std::uint16_t>(rows, tiles, num_tiles, next);
  if (type == DType::kI8) return attend_typed<std::int8_t>(rows, tiles, num_tiles, next);
  attend_typed<float>(rows, tiles, num_tiles, next);
}

void expand(DType type, const KvTile& tile, std::size_t stride, float* k, float* v) {
  if (type == DType::kF16) return expand_typed<std::uint16_t>(tile, stride, k, v);
  if (type == DType::kI8) return expand_typed<std::int8_t>(tile, stride, k, v);
  expand_typed<float>(tile, stride, k, v);
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
