// SPDX-License-Identifier: Apache-2.0
//
// multiply_bf16() for AVX-512 with and without BF16, AVX2, NEON and scalar, chosen at run time.
//
// Loop order: chunk of inputs; some tiles of rows; group of outputs; tile. The activations of these
// tiles stay in the first cache while all outputs of the call pass, a group's weights while the
// tiles do, the first of which fetches the next group's. An input that is no multiple of 32 ends in
// a block copied and padded with zeros.
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

constexpr int kTileOutputs = static_cast<int>(kBf16OutputsStep);
constexpr int kTileRows = kRegisters == 32 ? 6 : 2;
constexpr std::size_t kBlock = 32;  // inputs
constexpr std::size_t kBandTiles = 3;
static_assert(kBf16Chunk % kBlock == 0);
constexpr std::size_t kNear = 512;  // values

// Arithmetics: Block, 32 values in registers, its load(), and add(): a block of an output times one
// of a row.
struct Widened {
  static constexpr std::size_t kVectors = kBlock / kLanes;
  using Block = Vec[kVectors];
  static HWY_INLINE void load(const std::uint16_t* from, Block& to) {
    for (std::size_t i = 0; i < kVectors; ++i) to[i] = load_bf16(from + i * kLanes);
  }
  static HWY_INLINE Vec add(const Block& w, const Block& x, Vec sum) {
    for (std::size_t i = 0; i < kVectors; ++i) sum = hn::MulAdd(w[i], x[i], sum);
    return sum;
  }
};

#if HWY_TARGET == HWY_AVX3_DL
// Written as assembly: Highway has no target with these instructions.
struct Pairs {
  using Block = __m512i;
  static HWY_INLINE void load(const std::uint16_t* from, Block& to) {
    to = _mm512_loadu_si512(from);
  }
  static HWY_INLINE Vec add(const Block& w, const Block& x, Vec sum) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(w), "v"(x));
    return sum;
  }
};

bool has_pairs() {
  static const bool has = __builtin_cpu_supports("avx512bf16");
  return has;
}
#endif

template <typename Type, int kO, int kR>
struct Tile {
  const std::uint16_t* w[kO];
  const std::uint16_t* x[kR];
  Vec sums[kO][kR];

  HWY_INLINE Tile() {}  // an implicit one would not be compiled for the target

  HWY_INLINE void add_block() {
    typename Type::Block weights[kO];
    for (int o = 0; o < kO; ++o) Type::load(w[o], weights[o]);
    for (int r = 0; r < kR; ++r) {
      typename Type::Block row;
      Type::load(x[r], row);
      for (int o = 0; o < kO; ++o) sums[o][r] = Type::add(weights[o], row, sums[o][r]);
    }
  }

  HWY_INLINE void advance() {
    for (int o = 0; o < kO; ++o) w[o] += kBlock;
    for (int r = 0; r < kR; ++r) x[r] += kBlock;
  }

  // The last values of a row, fewer than a block.
  HWY_INLINE void add_tail(std::size_t tail) {
    std::uint16_t padded[kO + kR][kBlock] = {};
    for (int i = 0; i < kO + kR; ++i) {
      const std::uint16_t*& from = i < kO ? w[i] : x[i - kO];
      std::memcpy(padded[i], from, tail * sizeof(std::uint16_t));
      from = padded[i];
    }
    add_block();
  }
};

#if HWY_TARGET != HWY_SCALAR
// Halves upon each other until 4 lanes are left.
template <typename D, typename V>
HWY_INLINE auto fold(D, V value) {
  if constexpr (hn::MaxLanes(D()) > 4) {
    const hn::Half<D> half;
    return fold(half, hn::Add(hn::LowerHalf(half, value), hn::UpperHalf(half, value)));
  } else {
    return value;
  }
}

// to[0..3] += the sum of the lanes of each, in a third of the instructions.
HWY_INLINE void add_sums(Vec a, Vec b, Vec c, Vec d, float* to) {
  const hn::Repartition<double, FloatTag> pairs;
  const hn::FixedTag<float, 4> four;
  const Vec ab = hn::Add(hn::InterleaveLower(kF, a, b), hn::InterleaveUpper(kF, a, b));
  const Vec cd = hn::Add(hn::InterleaveLower(kF, c, d), hn::InterleaveUpper(kF, c, d));
  const auto low = hn::InterleaveLower(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, cd));
  const auto high = hn::InterleaveUpper(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, cd));
  const auto sum = fold(kF, hn::Add(hn::BitCast(kF, low), hn::BitCast(kF, high)));
  hn::StoreU(hn::Add(hn::LoadU(four, to), sum), four, to);
}
#endif

struct Range {  // of inputs
  std::size_t begin = 0, count = 0;
};

struct TileAt {
  std::size_t output = 0, row = 0, rows = 0;
  bool fetch = false;  // what the group behind multiplies; other tiles find it in a cache
};

// sums: of the first output and row, [rows, outputs].
template <typename Type, int kO, int kR>
void multiply_tile(const Bf16Product& p, Range range, const TileAt& at, float* sums) {
  Tile<Type, kO, kR> tile;
  for (int o = 0; o < kO; ++o) {
    tile.w[o] = p.weights + (at.output + o) * p.in_features + range.begin;
  }
  const std::uint16_t* x = p.x + range.begin * p.x_stride + at.row * kBf16Chunk;
  for (int r = 0; r < kR; ++r) tile.x[r] = x + r * kBf16Chunk;
  for (auto& of_output : tile.sums) {
    for (Vec& sum : of_output) sum = hn::Zero(kF);
  }
  const std::size_t ahead = kO * p.in_features;
  for (std::size_t block = 0; block < range.count / kBlock; ++block) {
    for (int o = 0; at.fetch && o < kO; ++o) {  // twice: requests are dropped while memory is busy
      __builtin_prefetch(tile.w[o] + ahead, 0, 3);
      __builtin_prefetch(tile.w[o] + kNear, 0, 3);
    }
    tile.add_block();
    tile.advance();
  }
  if (range.count % kBlock != 0) tile.add_tail(range.count % kBlock);
  for (int r = 0; r < kR; ++r) {
    float* to = sums + (at.row + r) * p.outputs + at.output;
    if constexpr (kO == 4 && kLanes > 1) {
      add_sums(tile.sums[0][r], tile.sums[1][r], tile.sums[2][r], tile.sums[3][r], to);
    } else {
      for (int o = 0; o < kO; ++o) to[o] += sum_of_lanes(tile.sums[o][r]);
    }
  }
}

// A tile of 1..kR rows.
template <typename Type, int kO, int kR>
void multiply_some(const Bf16Product& p, Range range, const TileAt& at, float* sums) {
  if constexpr (kR > 0) {
    if (at.rows == kR) return multiply_tile<Type, kO, kR>(p, range, at, sums);
    multiply_some<Type, kO, kR - 1>(p, range, at, sums);
  }
}

// Rows [first, last), in tiles of as equal heights as can be.
template <typename Type, int kO>
void multiply_band(const Bf16Product& p, Range range, std::size_t output, std::size_t first,
                   std::size_t last, float* sums) {
  std::size_t tiles = (last - first + kTileRows - 1) / kTileRows;
  for (std::size_t row = first; row < last; --tiles) {
    const std::size_t rows = (last - row + tiles - 1) / tiles;
    multiply_some<Type, kO, kTileRows>(p, range, {output, row, rows, row == first}, sums);
    row += rows;
  }
}

void write_result(const Bf16Product& p, const float* sums) {
  for (std::size_t row = 0; row < p.rows; ++row, sums += p.outputs) {
    float* y = p.y + row * p.y_stride;
    for (std::size_t o = 0; o < p.outputs; ++o) {
      const float value = p.bias == nullptr ? sums[o] : sums[o] + p.bias[o];
      y[o] = p.accumulate ? y[o] + value : value;
    }
  }
}

template <typename Type>
void multiply_type(const Bf16Product& p, std::vector<float>& workspace) {
  workspace.assign(p.rows * p.outputs, 0.0f);
  const std::size_t bands = (p.rows + kBandTiles * kTileRows - 1) / (kBandTiles * kTileRows);
  for (std::size_t begin = 0; begin < p.in_features; begin += kBf16Chunk) {
    const Range range{begin, std::min(kBf16Chunk, p.in_features - begin)};
    for (std::size_t band = 0; band < bands; ++band) {
      const std::size_t first = p.rows * band / bands, last = p.rows * (band + 1) / bands;
      std::size_t output = 0;
      for (; output + kTileOutputs <= p.outputs; output += kTileOutputs) {
        multiply_band<Type, kTileOutputs>(p, range, output, first, last, workspace.data());
      }
      for (; output < p.outputs; ++output) {
        multiply_band<Type, 1>(p, range, output, first, last, workspace.data());
      }
    }
  }
  write_result(p, workspace.data());
}

}  // namespace

void multiply_any(const Bf16Product& p, std::vector<float>& workspace) {
#if HWY_TARGET == HWY_AVX3_DL
  if (has_pairs()) return multiply_type<Pairs>(p, workspace);
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
