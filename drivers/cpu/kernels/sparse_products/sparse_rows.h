// SPDX-License-Identifier: Apache-2.0
//
// Rows of a matrix without its zeros: the non-zero values, and one byte for the place of each.
//
// Inputs are cut into blocks of 256, so that a byte names a place in its block. A row consists of
// [blocks] 16-bit counts of the values up to the end of each block; [values] bytes of places; at
// least 3 zero bytes, because kernels read places in groups; and, from a multiple of 4 bytes on,
// the values in the type of the model file. A row is padded to 8 bytes. Rows follow one another, so
// a product reads one stream. -0 counts as zero. Types: f32, f16, bf16; in_features: at most
// kMostSparseInputs. Threads: any; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace tandem::device::cpu {

inline constexpr std::size_t kSparseBlockInputs = 256;
inline constexpr std::size_t kMostSparseInputs = 65535;
// Kernels load whole vectors of places and values, so kSparseSlackBytes after the last row must be
// readable.
inline constexpr std::size_t kSparseSlackBytes = 128;

inline bool has_sparse_rows(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

inline std::size_t sparse_blocks(std::size_t in_features) {
  return (in_features + kSparseBlockInputs - 1) / kSparseBlockInputs;
}

// The offset in bytes of the values in a packed row.
inline std::size_t sparse_values_at(std::size_t blocks, std::size_t non_zeros) {
  constexpr std::size_t kPlaceSlack = 3;
  return (blocks * sizeof(std::uint16_t) + non_zeros + kPlaceSlack + 3) / 4 * 4;
}

// A packed row by its parts.
struct SparseRow {
  const std::uint16_t* ends = nullptr;   // [blocks]
  const std::uint8_t* places = nullptr;  // [ends[blocks - 1]]
  const std::byte* values = nullptr;     // likewise

  SparseRow() = default;
  SparseRow(const std::byte* row, std::size_t blocks)
      : ends(reinterpret_cast<const std::uint16_t*>(row)),
        places(reinterpret_cast<const std::uint8_t*>(row) + blocks * sizeof(std::uint16_t)),
        values(row + sparse_values_at(blocks, ends[blocks - 1])) {}

  std::size_t begin(std::size_t block) const { return block == 0 ? 0 : ends[block - 1]; }
};

// The number of non-zero values of a row [in_features].
std::size_t count_non_zeros(DType dtype, const std::byte* row, std::size_t in_features);

std::size_t sparse_row_bytes(DType dtype, std::size_t in_features, std::size_t non_zeros);

// Writes sparse_row_bytes() bytes. `to` is aligned to 8 bytes.
void pack_sparse_row(DType dtype, const std::byte* row, std::size_t in_features, std::byte* to);

}  // namespace tandem::device::cpu
