// SPDX-License-Identifier: Apache-2.0
//
// multiply_bf16() for AVX-512 with and without BF16, AVX2, NEON and scalar, chosen at run time.
//
// Loop order: panel; chunk of inputs; tile of rows. A chunk of a panel (128 KiB) stays in the
// second-level cache for all rows. A single tile as wide as the panel reads it in order and
// prefetches one page ahead; else the tiles share the prefetch of the next chunk. Each prefetches
// the next one's rows. A tile is 6 rows x 64 outputs with AVX512-BF16: a vector of weights serves
// all its rows, a pair of inputs in every lane all its outputs. With more than one tile a chunk is
// widened once, for all of them.
#include "cpu/kernels/float_products/bf16_products.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#define HWY_WANT_AVX3_DL  // before every header of Highway
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/float_products/bf16_products.cpp"
#include "hwy/foreach_target.h"
//
#include "cpu/kernels/float_products/bf16_pairs-inl.h"
#include "cpu/kernels/float_products/f8_panel.h"
#include "cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {
namespace {

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

struct Chunk {
  const std::byte* weights = nullptr;  // [pairs][width][2]
  const float* scales = nullptr;       // [width], of e4m3
  const std::byte* next = nullptr;     // of the panels: fetched meanwhile, as many bytes
  std::size_t bytes = 0;               // as it takes there
  std::size_t width = 0;               // outputs of its panel
  const std::uint16_t* x = nullptr;    // [rows][kBf16Chunk]
  std::size_t pairs = 0;
};

struct TileRows {
  std::size_t first = 0, count = 0;
  const std::byte* ahead = nullptr;  // fetched with every block, and the end of that
  const std::byte* ahead_end = nullptr;
  std::size_t lines_per_block = 0;
  bool from_end_to_end = false;  // instead: kNear ahead with every pair
};

// sums: of the first row and output, [rows, kBf16PanelOutputs].
template <typename Type, typename Stored, int kV, int kR>
void multiply_tile(const Chunk& chunk, const TileRows& rows, std::size_t output, float* sums) {
  Vec sum[kR][kV];
  for (auto& of_row : sum) {
    for (Vec& value : of_row) value = hn::Zero(kF);
  }
  const std::byte* w = chunk.weights + output * Stored::kBytes;
  const std::uint16_t* x = chunk.x + rows.first * kBf16Chunk;
  const std::byte* ahead = rows.ahead;
  for (std::size_t block = 0; block < chunk.pairs; block += kBlock) {
    for (std::size_t i = 0; i < rows.lines_per_block && ahead < rows.ahead_end; ++i) {
      __builtin_prefetch(ahead, 0, 2);
      ahead += kLine;
    }
    for (int r = 0; kR > 1 && r < kR; ++r) __builtin_prefetch(x + (kR + r) * kBf16Chunk, 0, 3);
    const std::size_t pairs = std::min(kBlock, chunk.pairs - block);
    for (std::size_t pair = 0; pair < pairs; ++pair, w += chunk.width * Stored::kBytes, x += 2) {
      for (std::size_t at = 0; rows.from_end_to_end && at < kV * kLanes * Stored::kBytes;
           at += kLine) {
        __builtin_prefetch(w + kNear + at, 0, 3);
      }
      typename Type::Pair weights[kV];
      Stored::template load<Type>(w, weights);
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
      const Vec before = load(sums + v * kLanes);
      if constexpr (Stored::kIsScaled) {
        const Vec scale = load(chunk.scales + output + v * kLanes);
        store(hn::MulAdd(sum[r][v], scale, before), sums + v * kLanes);
      } else {
        store(hn::Add(before, sum[r][v]), sums + v * kLanes);
      }
    }
  }
}

// All outputs of a panel.
template <typename Type, typename Stored, int kR>
void multiply_rows(const Chunk& chunk, TileRows rows, float* sums) {
  constexpr int kV = kR == 1 ? kRowVectors : kTileVectors;
  std::size_t output = 0;
  for (; output + kV * kLanes <= chunk.width; output += kV * kLanes) {
    multiply_tile<Type, Stored, kV, kR>(chunk, rows, output, sums);
    rows.lines_per_block = 0;
  }
  for (; output < chunk.width; output += kEndVectors * kLanes) {
    multiply_tile<Type, Stored, kEndVectors, kR>(chunk, rows, output, sums);
  }
}

// A tile of 1..kR rows.
template <typename Type, typename Stored, int kR>
void multiply_some(const Chunk& chunk, const TileRows& rows, float* sums) {
  if constexpr (kR > 0) {
    if (rows.count == kR) return multiply_rows<Type, Stored, kR>(chunk, rows, sums);
    multiply_some<Type, Stored, kR - 1>(chunk, rows, sums);
  }
}

// Tiles of as equal heights as can be: low ones waste what they read.
template <typename Type, typename Stored>
void multiply_chunk(const Chunk& chunk, std::size_t num_rows, float* sums) {
  std::size_t tiles = (num_rows + Type::kRows - 1) / Type::kRows;
  const std::size_t lines = chunk.bytes / kLine;
  const int vectors = num_rows == 1 ? kRowVectors : kTileVectors;
  TileRows rows;
  rows.from_end_to_end = tiles == 1 && vectors == static_cast<int>(kPanelVectors);
  const std::size_t share = rows.from_end_to_end ? 0 : (lines + tiles - 1) / tiles;
  rows.lines_per_block = (share * kBlock + chunk.pairs - 1) / chunk.pairs;
  rows.ahead = chunk.next;
  for (; rows.first < num_rows; --tiles) {
    rows.count = (num_rows - rows.first + tiles - 1) / tiles;
    rows.ahead_end = rows.ahead + share * kLine;
    multiply_some<Type, Stored, Type::kRows>(chunk, rows, sums);
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

// Pairs that belong together from pair `first` on: of one chunk of x and, e4m3, of one scale.
std::size_t pairs_from(const Bf16Product& p, std::size_t first) {
  constexpr std::size_t kChunkPairs = kBf16Chunk / 2;
  std::size_t end = std::min((p.in_features + 1) / 2, (first / kChunkPairs + 1) * kChunkPairs);
  if (p.scale_inputs > 0 && p.scale_inputs < p.in_features) {
    const std::size_t scale_pairs = p.scale_inputs / 2;
    end = std::min(end, (first / scale_pairs + 1) * scale_pairs);
  }
  return end - first;
}

// A chunk of e4m3 as pairs of bf16, for tiles that would each widen it again. to: [pairs][width][2]
template <typename Type>
void widen_chunk(const Chunk& chunk, std::byte* to) {
  const std::size_t count = chunk.pairs * chunk.width;
  std::size_t i = 0;
  const auto widen = [&]<int kV>(typename Type::Pair(&pairs)[kV]) HWY_ATTR {
    Type::load_f8(chunk.weights + i * StoredF8::kBytes, pairs);
    for (int v = 0; v < kV; ++v, i += kLanes) {
      hn::StoreU(Type::words(pairs[v]), kW,
                 reinterpret_cast<std::uint32_t*>(to + i * StoredBf16::kBytes));
    }
  };
  typename Type::Pair two[2], one[1];
  while (i + 2 * kLanes <= count) widen(two);  // NOLINT(bugprone-infinite-loop): widen() advances i
  while (i < count) widen(one);                // NOLINT(bugprone-infinite-loop)
}

// Floats that widen_chunk() needs after the sums: a pair of bf16 takes one.
constexpr std::size_t kWidenedFloats = kBf16Chunk / 2 * kBf16PanelOutputs;

template <typename Stored>
std::size_t panel_bytes(const Bf16Product& p, std::size_t width) {
  if constexpr (std::is_same_v<Stored, StoredBf16>) {
    return bf16_panels_bytes(width, p.in_features);
  } else {
    const std::size_t num_scales = (p.in_features + p.scale_inputs - 1) / p.scale_inputs;
    return f8_panel_bytes(width, p.in_features, num_scales);
  }
}

// sums: [rows, kBf16PanelOutputs], to add to; kWidenedFloats follow if a chunk is widened.
template <typename Type, typename Stored>
void multiply_panel(const Bf16Product& p, const std::byte* panel, std::size_t width, float* sums) {
  const std::size_t pairs = (p.in_features + 1) / 2;
  const std::byte* scales = panel + f8_codes_bytes(width, p.in_features);
  Chunk chunk;
  chunk.width = width;
  for (std::size_t first = 0; first < pairs; first += chunk.pairs) {
    const std::size_t before = first * 2 / kBf16Chunk * kBf16Chunk;  // inputs, of other chunks
    chunk.pairs = pairs_from(p, first);
    chunk.x = p.x + before * p.x_stride + (first * 2 - before);
    chunk.weights = panel + first * width * Stored::kBytes;
    chunk.bytes = chunk.pairs * width * Stored::kBytes;
    chunk.next = chunk.weights + chunk.bytes;
    if constexpr (std::is_same_v<Stored, StoredF8>) {
      const std::size_t scale = first * 2 / p.scale_inputs;
      chunk.scales = reinterpret_cast<const float*>(scales) + scale * width;
      if (p.rows > static_cast<std::size_t>(Type::kRows)) {
        auto* widened = reinterpret_cast<std::byte*>(sums + p.rows * kBf16PanelOutputs);
        widen_chunk<Type>(chunk, widened);
        chunk.weights = widened;
        multiply_chunk<Type, WidenedF8>(chunk, p.rows, sums);
        continue;
      }
    }
    multiply_chunk<Type, Stored>(chunk, p.rows, sums);
  }
}

template <typename Type, typename Stored>
void multiply_type(const Bf16Product& p, std::vector<float>& workspace) {
  constexpr bool kMayWiden = std::is_same_v<Stored, StoredF8>;
  const std::size_t num_sums = p.rows * kBf16PanelOutputs;
  const std::size_t floats = num_sums + (kMayWiden ? kWidenedFloats : 0);
  workspace.resize(std::max(workspace.size(), floats));
  const std::byte* panel = p.panels;
  for (std::size_t output = 0; output < p.outputs; output += kBf16PanelOutputs) {
    std::fill_n(workspace.begin(), num_sums, 0.0f);
    const std::size_t width = bf16_panel_width(p.outputs - output);
    multiply_panel<Type, Stored>(p, panel, width, workspace.data());
    panel += panel_bytes<Stored>(p, width);
    write_result(p, output, std::min(output + kBf16PanelOutputs, p.outputs), workspace.data());
  }
}

template <typename Type>
void multiply_stored(const Bf16Product& p, std::vector<float>& workspace) {
  if (p.scale_inputs > 0) return multiply_type<Type, StoredF8>(p, workspace);
  multiply_type<Type, StoredBf16>(p, workspace);
}

}  // namespace

void multiply_any(const Bf16Product& p, std::vector<float>& workspace) {
#if HWY_TARGET <= HWY_AVX3_DL
  if (has_pairs()) return multiply_stored<Paired>(p, workspace);
#endif
  multiply_stored<Widened>(p, workspace);
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
