// SPDX-License-Identifier: Apache-2.0
//
// Tiles of K and V in shared memory as operand a of m16n8k16 (common/mma.cuh), so that query heads
// are its eight columns: scores^T = K q^T and O^T = V^T p^T.
//
// 16-bit types are read by ldmatrix. 8-bit types are read as words of four values and widened to
// f16 in registers. The order of the sums over head_dim makes the values of a word neighbours in a
// fragment (see query_place()); value_dim() gives the order of the rows of V^T. The type of a tile
// gives the layout of its 16 rows: PaddedTile, RunTile. All lanes of a warp call the functions
// together.
#pragma once

#include "attention/decode_shapes.h"
#include "common/mma.cuh"
#include "common/packed_values.cuh"

namespace tandem::gpu_kernels {

template <KvType kType>
struct KvOperand {
  using Type = Half;
};
template <>
struct KvOperand<KvType::kBF16> {
  using Type = Bfloat;
};

// Rows of consecutive tokens, one after the other. kStride is an odd number of 16-byte lines, so
// any eight neighbours begin in different banks.
template <KvType kStored, int kValues>
struct PaddedTile {
  static constexpr KvType kType = kStored;
  static constexpr int kWidth = kValues;
  // Row r begins at r % 8 * kStride + r / 8 * kSecond.
  static constexpr int kStride = tile_row_bytes(kStored, kValues), kSecond = 8 * kStride;
  // The token of row r, counted from that of row 0.
  static __device__ int token(int row) { return row; }
};

// Two rows of each of the eight runs that a stage is copied in (decode_shapes.h): a run's rows are
// unpadded, as the pool has them, and runs begin in different banks.
template <KvType kStored, int kValues>
struct RunTile {
  static constexpr KvType kType = kStored;
  static constexpr int kWidth = kValues;
  static constexpr int kStride = run_stride(kStored, kValues);
  static constexpr int kSecond = run_row_bytes(kStored, kValues);
  static __device__ int token(int row) { return row % 8 * kRunTokens + row / 8; }
};

// Widens bytes 0, 1 and bytes 2, 3 to pairs of f16.
template <KvType kType>
__device__ void widen_bytes(std::uint32_t bytes, std::uint32_t& low, std::uint32_t& high) {
  if constexpr (kType == KvType::kE4M3) {
    widen_e4m3(bytes, low, high);
  } else {
    widen_i8(bytes, low, high);
  }
}

// The place of values d and d + 1 (d even) of a query in operand b: word `word` of lane 4 * row +
// `quad` of step d / 16.
struct QueryPlace {
  int quad, word;
};
template <KvType kType>
__device__ QueryPlace query_place(int d) {
  const int in_step = d % 16;
  if constexpr (has_scales(kType)) return {in_step / 4, in_step % 4 / 2};
  return {in_step % 8 / 2, in_step / 8};
}

// Loads values 16 step .. 16 step + 15 of the tile's 16 keys.
template <typename Tile>
__device__ void load_keys(const unsigned char* tile, int step, std::uint32_t (&a)[4]) {
  constexpr KvType kType = Tile::kType;
  constexpr int kStride = Tile::kStride, kSecond = Tile::kSecond;
  const int lane = static_cast<int>(threadIdx.x & 31u);
  if constexpr (has_scales(kType)) {
    const unsigned char* row = tile + lane / 4 * kStride + step * 16 + lane % 4 * 4;
    widen_bytes<kType>(*reinterpret_cast<const std::uint32_t*>(row), a[0], a[2]);
    widen_bytes<kType>(*reinterpret_cast<const std::uint32_t*>(row + kSecond), a[1], a[3]);
  } else {
    load_matrices(a,
                  tile + lane % 8 * kStride + lane / 8 % 2 * kSecond + step * 32 + lane / 16 * 16);
  }
}

// Loads V^T of 32 dimensions: the two fragments of 16 with number `pair`. The second is not written
// if kWidth ends before it.
template <typename Tile>
__device__ void load_values(const unsigned char* tile, int pair, std::uint32_t (&a)[2][4]) {
  constexpr KvType kType = Tile::kType;
  constexpr int kWidth = Tile::kWidth, kStride = Tile::kStride, kSecond = Tile::kSecond;
  const int lane = static_cast<int>(threadIdx.x & 31u);
  const bool whole = pair * 32 + 32 <= kWidth;
  if constexpr (!has_scales(kType)) {
    const unsigned char* row =
        tile + lane % 8 * kStride + lane / 16 * kSecond + pair * 64 + lane / 8 % 2 * 16;
    load_matrices_transposed(a[0], row);
    if (whole) load_matrices_transposed(a[1], row + 32);
  } else {
    const int group = lane / 4;
    const unsigned char* row = tile + lane % 4 * 2 * kStride + pair * 32 + group * (whole ? 4 : 2);
    std::uint32_t words[4];  // of rows 2t, 2t + 1, 2t + 8, 2t + 9
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned char* from = row + i % 2 * kStride + i / 2 * kSecond;
      words[i] = whole ? *reinterpret_cast<const std::uint32_t*>(from)
                       : *reinterpret_cast<const std::uint16_t*>(from);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::uint32_t first = words[2 * half], second = words[2 * half + 1];
      widen_bytes<kType>(permute_bytes(first, second, 0x5140), a[0][2 * half], a[0][2 * half + 1]);
      if (!whole) continue;
      widen_bytes<kType>(permute_bytes(first, second, 0x7362), a[1][2 * half], a[1][2 * half + 1]);
    }
  }
}

// The dimension of row lane / 4 (or, `lower`, that + 8) of fragment `index`.
template <KvType kType, int kWidth>
__device__ int value_dim(int index, bool lower) {
  const int group = static_cast<int>(threadIdx.x & 31u) / 4;
  if constexpr (!has_scales(kType)) return index * 16 + group + (lower ? 8 : 0);
  const int pair = index / 2;
  if (pair * 32 + 32 > kWidth) return pair * 32 + group * 2 + (lower ? 1 : 0);
  return pair * 32 + group * 4 + index % 2 * 2 + (lower ? 1 : 0);
}

}  // namespace tandem::gpu_kernels
