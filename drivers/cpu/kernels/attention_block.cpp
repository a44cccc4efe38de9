// SPDX-License-Identifier: Apache-2.0
//
// attend_tiles() for AVX-512, AVX2 and scalar, chosen at run time.
//
// Scores: for each dimension one vector of 16 K values, converted once and multiplied into the
// rows' accumulators. Softmax: one peak per row and step. Output: for a strip of dimensions the
// accumulators of all rows stay in registers while the tokens of all tiles pass by.
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

// Walks over the places to prefetch, a cache line at a time and in order, which is what the
// hardware's own prefetcher follows best. Into the second-level cache: it is used much later.
struct Fetcher {
  const Prefetch* next;
  int num_next;
  const std::byte* at = nullptr;
  const std::byte* end = nullptr;

  HWY_INLINE void line() {
    if (at == end) {
      if (num_next == 0) return;
      at = next->at;
      end = at + next->bytes;
      ++next;
      --num_next;
    }
    __builtin_prefetch(at, 0, 2);
    at += 64;
  }
};

template <typename T>
constexpr std::size_t kDimsPerLine = std::max<std::size_t>(1, 64 / (kTile * sizeof(T)));

// Independent chains per row, to hide the latency of multiply-add behind few rows.
template <int kRows>
constexpr int kChains = kRows >= 5   ? 1
                        : kRows >= 3 ? 2
                                     : 4;

template <int kRows, typename T>
HWY_INLINE void score_part(const AttentionRows& rows, const T* k, Fetcher* fetcher,
                           float* score /* [kRows, kMaxTiles * 16] */) {
  constexpr int kUnroll = kChains<kRows>;
  Vec sums[kUnroll][kRows];
  for (auto& chain : sums) {
    for (Vec& sum : chain) sum = hn::Zero(kF);
  }
  for (std::size_t d = 0; d < rows.stride; d += kUnroll) {
    for (int u = 0; u < kUnroll; ++u) {
      if (fetcher != nullptr && u % kDimsPerLine<T> == 0) fetcher->line();
      const Vec key = load_kv(k + (d + u) * kTile);
      for (int r = 0; r < kRows; ++r) {
        sums[u][r] = hn::MulAdd(broadcast(rows.q[r * rows.stride + d + u]), key, sums[u][r]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    Vec sum = sums[0][r];
    for (int u = 1; u < kUnroll; ++u) sum = hn::Add(sum, sums[u][r]);
    store(sum, score + r * kMaxTiles * kTile);
  }
}

template <int kRows, typename T>
HWY_INLINE void score_tile(const AttentionRows& rows, const KvTile& tile, Fetcher& fetcher,
                           float* score) {
  const T* k = static_cast<const T*>(tile.k);
  for (std::size_t part = 0; part < kParts; ++part) {
    score_part<kRows, T>(rows, k + part * kLanes, part == 0 ? &fetcher : nullptr,
                         score + part * kLanes);
  }
  for (int r = 0; r < kRows; ++r) {
    float* row = score + r * kMaxTiles * kTile;
    if (tile.k_scale != nullptr) {
      for (std::size_t t = 0; t < kTile; t += kLanes) {
        store(hn::Mul(load(row + t), load(tile.k_scale + t)), row + t);
      }
    }
    for (std::size_t t = tile.tokens; t < kTile; ++t) row[t] = kMinusInfinity;
  }
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
  const float before = rows.peak[r];
  const float now = max_of_lanes(top);
  const float peak = now > before ? now : before;
  if (peak > before) {
    const float factor = std::exp(before - peak);  // 0 at the start
    rows.sum[r] *= factor;
    rescale(rows.acc + r * rows.stride, rows.stride, factor);
    rows.peak[r] = peak;
  }
  // Where no score was above -inf yet, subtracting 0 keeps the weights 0.
  const Vec shift = broadcast(peak == kMinusInfinity ? 0.0f : peak);
  Vec sum = hn::Zero(kF);
  for (std::size_t t = 0; t < count; t += kLanes) {
    const Vec w = exp(hn::Sub(load(weight + t), shift));
    sum = hn::Add(sum, w);
    const float* scale = tiles[t / kTile].v_scale;
    store(scale == nullptr ? w : hn::Mul(w, load(scale + t % kTile)), weight + t);
  }
  rows.sum[r] += sum_of_lanes(sum);
}

template <int kRows, int kStrip, typename T>
HWY_INLINE void add_strip(const AttentionRows& rows, const KvTile* tiles, int num_tiles,
                          Fetcher& fetcher, std::size_t d, const float* weight) {
  Vec acc[kRows][kStrip];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kStrip; ++c) acc[r][c] = load(rows.acc + r * rows.stride + d + c * kLanes);
  }
  for (int i = 0; i < num_tiles; ++i) {
    const T* v = static_cast<const T*>(tiles[i].v) + d;
    const float* w = weight + i * kTile;
    for (int t = 0; t < tiles[i].tokens; ++t, v += rows.stride) {
      for (std::size_t c = 0; c < kStrip * kLanes; c += 64 / sizeof(T)) fetcher.line();
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
                 const Prefetch* next, int num_next) {
  if (num_tiles <= 0) return;
  Fetcher fetcher{next, num_next};
  HWY_ALIGN float weight[kRows * kMaxTiles * kTile];
  for (int i = 0; i < num_tiles; ++i) {
    score_tile<kRows, T>(rows, tiles[i], fetcher, weight + i * kTile);
  }
  for (int r = 0; r < kRows; ++r) {
    soften_row(rows, r, tiles, num_tiles, weight + r * kMaxTiles * kTile);
  }
  constexpr int kStrip = kStripVectors<kRows>;
  std::size_t d = 0;
  for (; d + kStrip * kLanes <= rows.stride; d += kStrip * kLanes) {
    add_strip<kRows, kStrip, T>(rows, tiles, num_tiles, fetcher, d, weight);
  }
  for (; d < rows.stride; d += kLanes)
    add_strip<kRows, 1, T>(rows, tiles, num_tiles, fetcher, d, weight);
}

template <typename T>
void attend_typed(const AttentionRows& rows, const KvTile* tiles, int num_tiles,
                  const Prefetch* next, int num_next) {
  switch (rows.rows) {
    case 1:
      return attend_rows<1, T>(rows, tiles, num_tiles, next, num_next);
    case 2:
      return attend_rows<2, T>(rows, tiles, num_tiles, next, num_next);
    case 3:
      return attend_rows<3, T>(rows, tiles, num_tiles, next, num_next);
    case 4:
      return attend_rows<4, T>(rows, tiles, num_tiles, next, num_next);
    case 5:
      return attend_rows<5, T>(rows, tiles, num_tiles, next, num_next);
    case 6:
      return attend_rows<6, T>(rows, tiles, num_tiles, next, num_next);
    case 7:
      return attend_rows<7, T>(rows, tiles, num_tiles, next, num_next);
    default:
      return attend_rows<8, T>(rows, tiles, num_tiles, next, num_next);
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
      const std::size_t at = t * stride + d;
      store(held ? hn::Mul(load_kv(from_v + at), scale) : hn::Zero(kF), v + at);
    }
  }
}

}  // namespace

void attend(DType type, const AttentionRows& rows, const KvTile* tiles, int num_tiles,
            const Prefetch* next, int num_next) {
  if (type == DType::kF16)
    return attend_typed<std::uint16_t>(rows, tiles, num_tiles, next, num_next);
  if (type == DType::kI8) return attend_typed<std::int8_t>(rows, tiles, num_tiles, next, num_next);
  attend_typed<float>(rows, tiles, num_tiles, next, num_next);
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
                  const Prefetch* next, int num_next) {
  HWY_DYNAMIC_DISPATCH(attend)(type, rows, tiles, num_tiles, next, num_next);
}

void expand_tile(DType type, const KvTile& tile, std::size_t stride, float* k, float* v) {
  HWY_DYNAMIC_DISPATCH(expand)(type, tile, stride, k, v);
}

}  // namespace tandem::device::cpu
#endif  // HWY_ONCE
