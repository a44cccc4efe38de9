// SPDX-License-Identifier: Apache-2.0
//
// Rows of a matrix without its zeros: a bit per input, then the values whose bit is set.
//
// A row is [in_features / 64] words of bits, lowest bit first, and its values in the type of the
// model file, padded to 8 bytes. Rows follow each other: a product reads one stream. -0 counts as
// zero. Types: f32, f16, bf16; in_features: a multiple of 64. Threads: any; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace tandem::device::cpu {

inline constexpr std::size_t kSparseWordInputs = 64;
// Kernels load whole vectors of values: so many bytes after the last row must be readable.
inline constexpr std::size_t kSparseSlackBytes = 128;

inline bool has_sparse_rows(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// The values of a row [in_features] that are not zero.
std::size_t count_non_zeros(DType dtype, const std::byte* row, std::size_t in_features);

std::size_t sparse_row_bytes(DType dtype, std::size_t in_features, std::size_t non_zeros);

// Writes sparse_row_bytes() bytes. `to` is aligned to 8 bytes.
void pack_sparse_row(DType dtype, const std::byte* row, std::size_t in_features, std::byte* to);

}  // namespace tandem::device::cpu
