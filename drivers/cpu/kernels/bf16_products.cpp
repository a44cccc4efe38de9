// SPDX-License-Identifier: Apache-2.0
//
// multiply_bf16() for AVX-512 with and without BF16, AVX2, NEON and scalar, chosen at run time.
//
// Loop order: panel; chunk of inputs; tile of rows. A chunk of a panel (128 KiB) stays in the
// second cache while all rows pass. One tile as wide as the panel reads it from end to end and
// fetches what lies a page ahead; otherwise the tiles share the fetching of the next chunk. Each
// fetches the next one's rows. A tile is 6 rows x 64 outputs with AVX512-BF16: a vector
// of weights serves all of its rows, a pair of inputs in every lane all of its outputs.
#include "cpu/kernels/bf16_products.h"

#include <algorithm>
#include <bit>
#include <cstring>

#define HWY_WANT_AVX3_DL  // before every header of Highway
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/bf16_products.cpp"
#include "hwy/foreach_target.h"
//
#include "cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {
namespace {

using WordTag = hn::RebindToUnsigned<FloatTag>;
using Words = hn::Vec<WordTag>;
inline constexpr WordTag kW;

// Vectors of outputs of a tile: of one row, which reads whole lines of a panel; of several; and at
// the end of a panel that is narrower.
constexpr std::size_t kPanelVectors = kBf16PanelOutputs / kLanes;
constexpr int kRowVectors = static_cast<int>(std::min<std::size_t>(kPanelVectors, 8));
constexpr int kTileVectors = kRegisters == 32 ? 4 : 2;
constexpr int kEndVectors = kLanes == 16 ? 1 : 2;
static_assert(kBf16PanelStep % (kEndVectors * kLanes) == 0);
static_assert(kBf16Chunk % 2 == 0);
constexpr std::size_t kLine = 64;    // bytes
constexpr std::size_t kBlock = 16;   // pairs: a line of a row
constexpr std::size_t kNear = 4096;  // bytes ahead in a panel

// Of weights, or one pair of a row in every lane.
HWY_INLINE Words load_pairs(const std::byte* from) {
  return hn::LoadU(kW, reinterpret_cast<const std::uint32_t*>(from));
}
HWY_INLINE Words broadcast_pair(const std::uint16_t* from) {
  std::uint32_t pair;
  std::memcpy(&pair, from, sizeof pair);
  return hn::Set(kW, pair);
}

// Arithmetics: Pair, what a vector of pairs is in registers, and add().
struct Widened {
  static constexpr int kRows = kRegisters == 32 ? 5 : 4;
  using Pair = Vec[2];  // a struct's constructor would not be compiled for the target
  static HWY_INLINE void widen(Words pairs, Pair& to) {
    to[0] = hn::BitCast(kF, hn::ShiftLeft<16>(pairs));
    to[1] = hn::BitCast(kF, hn::And(pairs, hn::Set(kW, 0xffff0000u)));
  }
  static HWY_INLINE Vec add(const Pair& w, const Pair& x, Vec sum) {
    return hn::MulAdd(w[1], x[1], hn::MulAdd(w[0], x[0], sum));
  }
};

#if HWY_TARGET <= HWY_AVX3_DL
// Written as assembly: not every Highway has a target with these instructions.
struct Paired {
  static constexpr int kRows = 6;
  using Pair = Words;
  static HWY_INLINE void widen(Words pairs, Pair& to) { to = pairs; }
  static HWY_INLINE Vec add(const Pair& w, const Pair& x, Vec sum) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "v"(x.raw));
    return sum;
  }
};

bool has_pairs() {
  static const bool has = __builtin_cpu_supports("avx512bf16");
  return has;
}
#endif

struct Chunk {
  const std::byte* weights = nullptr;  // [pairs][width][2]
  std::size_t width = 0;               // outputs of its panel
  const std::uint16_t* x = nullptr;    // [rows][kBf16Chunk]
  std::size_t pairs = 0;
};

struct TileRows {
  std::size_t first = 0, count = 0;
  const std::byte* ahead = nullptr;  // what to fetch beside every block, and where that ends
  const std::byte* ahead_end = nullptr;
  std::size_t lines_per_block = 0;
  bool from_end_to_end = false;  // instead: kNear ahead beside every pair
};

// sums: of the first row and output, [rows, kBf16PanelOutputs].
template <typename Type, int kV, int kR>
void multiply_tile(const Chunk& chunk, const TileRows& rows, std::size_t output, float* sums) {
  Vec sum[kR][kV];
  for (auto& of_row : sum) {
    for (Vec& value : of_row) value = hn::Zero(kF);
  }
  const std::byte* w = chunk.weights + output * 4;
  const std::uint16_t* x = chunk.x + rows.first * kBf16Chunk;
  const std::byte* ahead = rows.ahead;
  for (std::size_t block = 0; block < chunk.pairs; block += kBlock) {
    for (std::size_t i = 0; i < rows.lines_per_block && ahead < rows.ahead_end; ++i) {
      __builtin_prefetch(ahead, 0, 2);
      ahead += kLine;
    }
    for (int r = 0; kR > 1 && r < kR; ++r) __builtin_prefetch(x + (kR + r) * kBf16Chunk, 0, 3);
    const std::size_t pairs = std::min(kBlock, chunk.pairs - block);
    for (std::size_t pair = 0; pair < pairs; ++pair, w += chunk.width * 4, x += 2) {
      for (std::size_t at = 0; rows.from_end_to_end && at < kV * kLanes * 4; at += kLine) {
        __builtin_prefetch(w + kNear + at, 0, 3);
      }
      typename Type::Pair weights[kV];
      for (int v = 0; v < kV; ++v) Type::widen(load_pairs(w + v * kLanes * 4), weights[v]);
      for (int r = 0; r < kR; ++r) {
        typename Type::Pair input;
        Type::widen(broadcast_pair(x + r * kBf16Chunk), input);
        for (int v = 0; v < kV; ++v) sum[r][v] = Type::add(weights[v], input, sum[r][v]);
      }
    }
  }
  sums += rows.first * kBf16PanelOutputs + output;
  for (int r = 0; r < kR; ++r, sums += kBf16PanelOutputs) {
    for (int v = 0; v < kV; ++v) {
      store(hn::Add(load(sums + v * kLanes), sum[r][v]), sums + v * kLanes);
    }
  }
}

// All outputs of a panel.
template <typename Type, int kR>
void multiply_rows(const Chunk& chunk, TileRows rows, float* sums) {
  constexpr int kV = kR == 1 ? kRowVectors : kTileVectors;
  std::size_t output = 0;
  for (; output + kV * kLanes <= chunk.width; output += kV * kLanes) {
    multiply_tile<Type, kV, kR>(chunk, rows, output, sums);
    rows.lines_per_block = 0;
  }
  for (; output < chunk.width; output += kEndVectors * kLanes) {
    multiply_tile<Type, kEndVectors, kR>(chunk, rows, output, sums);
  }
}

// A tile of 1..kR rows.
template <typename Type, int kR>
void multiply_some(const Chunk& chunk, const TileRows& rows, float* sums) {
  if constexpr (kR > 0) {
    if (rows.count == kR) return multiply_rows<Type, kR>(chunk, rows, sums);
    multiply_some<Type, kR - 1>(chunk, rows, sums);
  }
}

// Tiles of as equal heights as can be: low ones waste what they read.
template <typename Type>
void multiply_chunk(const Chunk& chunk, std::size_t num_rows, float* sums) {
  std::size_t tiles = (num_rows + Type::kRows - 1) / Type::kRows;
  const std::size_t lines = chunk.pairs * chunk.width * 4 / kLine;
  const int vectors = num_rows == 1 ? kRowVectors : kTileVectors;
  TileRows rows;
  rows.from_end_to_end = tiles == 1 && vectors == static_cast<int>(kPanelVectors);
  const std::size_t share = rows.from_end_to_end ? 0 : (lines + tiles - 1) / tiles;
  rows.lines_per_block = (share * kBlock + chunk.pairs - 1) / chunk.pairs;
  rows.ahead = chunk.weights + lines * kLine;  // the next chunk, or panel
  for (; rows.first < num_rows; --tiles) {
    rows.count = (num_rows - rows.first + tiles - 1) / tiles;
    rows.ahead_end = rows.ahead + share * kLine;
    multiply_some<Type, Type::kRows>(chunk, rows, sums);
    rows.first += rows.count;
    rows.ahead = rows.ahead_end;
  }
}

// sums: [rows, kBf16PanelOutputs], of outputs [begin, end).
void write_result(const Bf16Product& p, std::size_t begin, std::size_t end, const float* sums) {
  for (std::size_t row = 0; row < p.rows; ++row, sums += kBf16PanelOutputs) {
    float* y = p.y + row * p.y_stride;
    for (std::size_t o = begin; o < end; ++o) {
      const float sum = sums[o - begin];
      const float value = p.bias == nullptr ? sum : sum + p.bias[o];
      y[o] = p.accumulate ? y[o] + value : value;
    }
  }
}

template <typename Type>
void multiply_type(const Bf16Product& p, std::vector<float>& workspace) {
  const std::size_t pairs = (p.in_features + 1) / 2;
  Chunk chunk;
  chunk.weights = p.panels;
  for (std::size_t output = 0; output < p.outputs; output += kBf16PanelOutputs) {
    workspace.assign(p.rows * kBf16PanelOutputs, 0.0f);
    chunk.width = bf16_panel_width(p.outputs - output);
    for (std::size_t first = 0; first < pairs; first += chunk.pairs) {
      chunk.pairs = std::min(kBf16Chunk / 2, pairs - first);
      chunk.x = p.x + first * 2 * p.x_stride;
      multiply_chunk<Type>(chunk, p.rows, workspace.data());
      chunk.weights += chunk.pairs * chunk.width * 4;
    }
    write_result(p, output, std::min(output + kBf16PanelOutputs, p.outputs), workspace.data());
  }
}

}  // namespace

void multiply_any(const Bf16Product& p, std::vector<float>& workspace) {
#if HWY_TARGET <= HWY_AVX3_DL
  if (has_pairs()) return multiply_type<Paired>(p, workspace);
#endif
  multiply_type<Widened>(p, workspace);
}

void round_row(const float* from, std::size_t count, std::uint16_t* to) {
  for (std::size_t i = 0; i < count; ++i) {  // f32_to_bf16() without branches
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    to[i] = static_cast<std::uint16_t>(is_nan ? (bits >> 16) | 0x40u : rounded);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::device::cpu {
HWY_EXPORT(multiply_any);
HWY_EXPORT(round_row);

void multiply_bf16(const Bf16Product& product, std::vector<float>& workspace) {
  HWY_DYNAMIC_DISPATCH(multiply_any)(product, workspace);
}

void round_to_bf16(const float* from, std::size_t count, std::uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(round_row)(from, count, to);
}

}  // namespace tandem::device::cpu
#endif  // HWY_ONCE
