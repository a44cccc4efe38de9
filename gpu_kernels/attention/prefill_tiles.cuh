// SPDX-License-Identifier: Apache-2.0
//
// Shared memory of the prefill kernel, and how tiles of K and V get there.
//
// PrefillTraits fixes types and sizes. A row of 16-bit operands is kDim values and 8 of padding, so
// that the eight rows of one matrix load are in different banks. Tiles arrive in one of three ways.
// 16-bit values: into one of two operand buffers while the other is in use. 8-bit values: into one
// of two raw buffers, then widened into the one operand buffer. f32 values: read and split at use.
// Places of rows and scales are known two tiles ahead, because they need a read of the page list.
// All 128 threads of a block call every function.
#pragma once

#include <type_traits>

#include "attention/prefill_rows.cuh"
#include "common/async_copy.cuh"
#include "common/mma.cuh"

namespace tandem::gpu_kernels {

inline constexpr int kPrefillThreads = 128;

// Stored: F16, BF16, std::int8_t, E4M3 or float; head_dim <= kWidth.
template <typename StoredType, int kWidth, bool kIsExact, bool kIsNarrow = false>
struct PrefillTraits {
  using Stored = StoredType;
  using Operand = std::conditional_t<std::is_same_v<Stored, F16>, Half, Bfloat>;
  static constexpr bool kIsHalf = std::is_same_v<Operand, Half>;
  static constexpr bool kIsFloat = std::is_same_v<Stored, float>;
  static constexpr bool kIsByte = sizeof(Stored) == 1;
  static constexpr int kDim = kWidth;
  static constexpr int kStride = kDim + 8;
  static constexpr int kRowTiles = prefill_tile_rows(kDim, kIsExact) / 64;
  static constexpr int kWarpRows = 16 * kRowTiles;  // query heads of a warp
  static constexpr int kRows = 4 * kWarpRows;       // query heads of a block
  static constexpr int kQueryParts = kIsExact ? 2 : 1;
  static constexpr int kKeyParts = kIsFloat ? 2 : 1;
  static constexpr int kKeys =  // keys of a tile
      prefill_tile_keys(sizeof(Stored), kDim, kIsExact) / (kIsNarrow ? 2 : 1);
  static constexpr int kBuffers = sizeof(Stored) == 2 ? 2 : 1;
  static constexpr int kRawBytes = kIsByte ? kKeys * kDim : 0;  // bytes of a raw tile of K or of V
};

// places of four tiles: the one in use, the one being copied, the one after it, and a spare
inline constexpr int kPlaceSlots = 4;
inline constexpr std::uint32_t kNoRow = 0xffffffffu;

template <typename Traits>
struct PrefillShared {
  std::uint16_t q[Traits::kQueryParts][Traits::kRows][Traits::kStride];
  std::uint16_t k[Traits::kBuffers][Traits::kKeyParts][Traits::kKeys][Traits::kStride];
  std::uint16_t v[Traits::kBuffers][Traits::kKeyParts][Traits::kKeys][Traits::kStride];
  alignas(16) unsigned char raw[Traits::kIsByte ? 4 * Traits::kRawBytes : 16];  // [2][k, v]
  float factors[Traits::kRows];  // [query heads]: factors that turn products into scores
  SeenTokens seen[Traits::kRows];
  PrefillTile tile;
  // rows of K in the pool; the row of V is v_rows later
  std::uint32_t rows[kPlaceSlots][Traits::kKeys];
  float k_scales[kPlaceSlots][Traits::kKeys];
  float v_scales[kPlaceSlots][Traits::kKeys];
  // [columns of V]: a bit per token of the tile whose value is not finite
  std::uint64_t bad[Traits::kDim];
  std::uint32_t nan_columns[Traits::kRows][(Traits::kDim + 31) / 32];  // columns of O that are NaN
};

// The row in the pool and the scales of the token that the thread handles in a tile.
struct KeyPlace {
  std::uint32_t row = kNoRow;
  float k_scale = 0.0f, v_scale = 0.0f;
};

template <typename Traits>
__device__ KeyPlace find_key(const PrefillJob& job, const PrefillTile& tile, int tile_at) {
  KeyPlace place;
  const int token = tile_at + static_cast<int>(threadIdx.x);
  if (static_cast<int>(threadIdx.x) >= Traits::kKeys || token >= tile.kv_end) return place;
  if constexpr (Traits::kIsFloat) {
    place.row =
        static_cast<std::uint32_t>(tile.origin + token) * static_cast<std::uint32_t>(job.kv_heads) +
        blockIdx.y;
  } else {
    const bool paged = job.pages != nullptr;
    const int at = paged ? token : tile.origin + token;  // the workspace's pages are in order
    const int index = at >> job.page_shift;
    const std::uint32_t page =
        paged ? job.pages[tile.origin + index] : static_cast<unsigned>(index);
    const std::uint32_t head = page * 2 * static_cast<std::uint32_t>(job.kv_heads) + blockIdx.y;
    place.row =
        (head << job.page_shift) + (static_cast<unsigned>(at) & ((1u << job.page_shift) - 1));
    if constexpr (Traits::kIsByte) {
      place.k_scale = job.scales[place.row];
      place.v_scale = job.scales[place.row + job.v_rows];
    }
  }
  return place;
}

template <typename Traits>
__device__ void keep_key(PrefillShared<Traits>& shared, int tile_index, const KeyPlace& place) {
  if (static_cast<int>(threadIdx.x) >= Traits::kKeys) return;
  const int slot = tile_index % kPlaceSlots;
  shared.rows[slot][threadIdx.x] = place.row;
  if constexpr (Traits::kIsByte) {
    shared.k_scales[slot][threadIdx.x] = place.k_scale;
    shared.v_scales[slot][threadIdx.x] = place.v_scale;
  }
}

// Starts the copies of a tile whose places are stored. The loop is not unrolled, because its
// addresses would need registers that the kernels for the widest rows do not have.
template <typename Traits>
__device__ void copy_tile(const PrefillJob& job, PrefillShared<Traits>& shared, int tile_index) {
  if constexpr (!Traits::kIsFloat) {
    constexpr int kRowBytes = Traits::kDim * static_cast<int>(sizeof(typename Traits::Stored));
    constexpr int kChunks = kRowBytes / 16;
    const std::uint32_t* rows = shared.rows[tile_index % kPlaceSlots];
#pragma unroll 1
    for (int at = static_cast<int>(threadIdx.x); at < Traits::kKeys * kChunks;
         at += kPrefillThreads) {
      const int key = at / kChunks, chunk = at % kChunks;
      const std::uint32_t row = rows[key];
      const bool valid = row != kNoRow;
      const char* from = static_cast<const char*>(job.values) +
                         static_cast<std::size_t>(valid ? row : 0) * kRowBytes + chunk * 16;
      const std::size_t to_v = valid ? static_cast<std::size_t>(job.v_rows) * kRowBytes : 0;
      void *k, *v;
      if constexpr (Traits::kIsByte) {
        k = shared.raw + tile_index % 2 * 2 * Traits::kRawBytes + at * 16;
        v = shared.raw + (tile_index % 2 * 2 + 1) * Traits::kRawBytes + at * 16;
      } else {
        k = &shared.k[tile_index % 2][0][key][chunk * 8];
        v = &shared.v[tile_index % 2][0][key][chunk * 8];
      }
      copy_async_16(k, from, valid);
      copy_async_16(v, from + to_v, valid);
    }
    commit_copies();
  }
}

// Widens four bytes exactly to bf16: two words of two values.
__device__ inline uint2 widen_bytes(std::uint32_t word, std::int8_t) {
  const std::uint32_t biased = word ^ 0x80808080u;
  std::uint32_t bits[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t value = biased >> (8 * i) & 0xffu;
    bits[i] = bits_of(float_of(0x4b000000u | value) - 8388736.0f);  // 2^23 + 128
  }
  return make_uint2(bits[0] >> 16 | (bits[1] & 0xffff0000u),
                    bits[2] >> 16 | (bits[3] & 0xffff0000u));
}
__device__ inline uint2 widen_bytes(std::uint32_t word, E4M3) {
  std::uint32_t bits[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t value = word >> (8 * i);
    bits[i] = bits_of(float_of((value & 0x7fu) << 20) * 0x1p120f) | (value & 0x80u) << 24;
    if ((value & 0x7fu) == 0x7fu) bits[i] = 0x7fc00000u;
  }
  return make_uint2(bits[0] >> 16 | (bits[1] & 0xffff0000u),
                    bits[2] >> 16 | (bits[3] & 0xffff0000u));
}

// Widens a tile of 8-bit values, which has been copied, into the operands.
template <typename Traits>
__device__ void widen_tile(PrefillShared<Traits>& shared, int tile_index) {
  constexpr int kWords = Traits::kDim / 8;  // words of 8 values in a row
#pragma unroll 4
  for (int at = static_cast<int>(threadIdx.x); at < 2 * Traits::kKeys * kWords;
       at += kPrefillThreads) {
    const int row = at / kWords, word = at % kWords;  // rows of K, then of V
    const uint2 bytes = *reinterpret_cast<const uint2*>(
        shared.raw + tile_index % 2 * 2 * Traits::kRawBytes + at * 8);
    const uint2 low = widen_bytes(bytes.x, typename Traits::Stored{});
    const uint2 high = widen_bytes(bytes.y, typename Traits::Stored{});
    std::uint16_t* to =
        row < Traits::kKeys ? shared.k[0][0][row] : shared.v[0][0][row - Traits::kKeys];
    *reinterpret_cast<uint4*>(to + word * 8) = make_uint4(low.x, low.y, high.x, high.y);
  }
}

// Reads a tile of f32 values and splits them; columns from head_dim on are 0.
template <typename Traits>
__device__ void split_tile(const PrefillJob& job, PrefillShared<Traits>& shared, int tile_index) {
  constexpr int kPairs = Traits::kDim / 2;
  const std::uint32_t* rows = shared.rows[tile_index % kPlaceSlots];
  for (int at = static_cast<int>(threadIdx.x); at < 2 * Traits::kKeys * kPairs;
       at += kPrefillThreads) {
    const bool is_v = at >= Traits::kKeys * kPairs;
    const int key = at / kPairs % Traits::kKeys, column = at % kPairs * 2;
    const std::uint32_t row = rows[key];
    const float* from = (is_v ? job.v : job.k) + static_cast<std::size_t>(row) * job.head_dim;
    const auto value = [&](int i) {
      return row != kNoRow && column + i < job.head_dim ? from[column + i] : 0.0f;
    };
    std::uint32_t high, low;
    split<Bfloat>(value(0), value(1), high, low);
    auto* to = is_v ? shared.v[0] : shared.k[0];
    *reinterpret_cast<std::uint32_t*>(&to[0][key][column]) = high;
    *reinterpret_cast<std::uint32_t*>(&to[Traits::kKeyParts - 1][key][column]) = low;
  }
}

// The tokens of a tile, as bits, that a query head sees.
__device__ inline std::uint64_t seen_bits(int tile_at, SeenTokens seen) {
  const auto below = [tile_at](int token) {
    const int count = token - tile_at;
    return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << max(count, 0)) - 1;
  };
  return below(seen.end) & ~below(seen.begin);
}

// A weight of 0 hides a token from a query head, but 0 times a NaN or an infinity of V is NaN. So
// in tiles that only some heads see, such values are set to 0, and the heads that see them are
// marked. Marked results become NaN at the end.
template <typename Traits>
__device__ void hide_non_finite(PrefillShared<Traits>& shared, int buffer, int tile_at) {
  constexpr std::uint32_t kExponent = Traits::kIsHalf ? 0x7c00 : 0x7f80;
  constexpr int kPairs = Traits::kDim / 2;
  auto& v = shared.v[buffer][0];
  const auto is_finite = [](std::uint32_t bits) { return (bits & kExponent) != kExponent; };
  bool found = false;
  for (int at = static_cast<int>(threadIdx.x); at < Traits::kKeys * kPairs; at += kPrefillThreads) {
    const std::uint32_t pair =
        *reinterpret_cast<const std::uint32_t*>(&v[at / kPairs][at % kPairs * 2]);
    found = found || !is_finite(pair) || !is_finite(pair >> 16);
  }
  if (!__syncthreads_or(found)) return;
  for (int column = static_cast<int>(threadIdx.x); column < Traits::kDim;
       column += kPrefillThreads) {
    std::uint64_t bad = 0;
    for (int key = 0; key < Traits::kKeys; ++key) {
      if (is_finite(v[key][column])) continue;
      bad |= std::uint64_t{1} << key;
      for (int part = 0; part < Traits::kKeyParts; ++part) shared.v[buffer][part][key][column] = 0;
    }
    shared.bad[column] = bad;
  }
  __syncthreads();
  const auto row = static_cast<int>(threadIdx.x);
  if (row < Traits::kRows) {
    const std::uint64_t seen = seen_bits(tile_at, shared.seen[row]);
    for (int column = 0; column < Traits::kDim; ++column) {
      if (shared.bad[column] & seen) shared.nan_columns[row][column / 32] |= 1u << (column % 32);
    }
  }
}

}  // namespace tandem::gpu_kernels
