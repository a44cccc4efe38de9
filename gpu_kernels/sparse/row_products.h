// SPDX-License-Identifier: Apache-2.0
//
// Products over the rows of a sparse matrix or tensor.
//
// sum_rows: out[row] = end(sum over the row's entries of value * product of the factors' rows).
// With one factor it is SpMM, or over a tensor's fibres TTM; with order - 1 factors, and entries
// sorted by the result's mode, MTTKRP. dot_rows: SpMV; dot_fibres: the same for rows of few entries
// (TTV). dot_entries: dot products of dense rows at the entries (SDDMM). attend_rows: scores scale
// * value * dot(query, key), their softmax over the row, the sum of the values' rows; a row without
// entries gives zeros. Numerics: f32, in one order in every run. Bytes: an entry reads its value
// and, per factor, its place and columns * 4; a row writes columns * 4. Few long rows: `parts` more
// warps each. Graph-safe: no allocation, no waits.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "sparse/row_jobs.h"
#include "sparse/wire_values.h"

namespace tandem::gpu_kernels {

// columns: 16, 32, 64 or 128; factors: 1 to 4, more than 1 with f32 alone. Else
// cudaErrorInvalidValue. Launches: 1, or 2 with more parts than 1.
cudaError_t sum_rows(const RowSums& job, int factors, int columns, ValueType type,
                     cudaStream_t stream);
cudaError_t dot_rows(const RowSums& job, ValueType type, cudaStream_t stream);

// length: the entries of every row, 1 to kMostFibreLength, of which only begins[0] is read; or 0:
// as `begins` says.
inline constexpr int kMostFibreLength = 4;
cudaError_t dot_fibres(const RowSums& job, int length, ValueType type, cudaStream_t stream);

// columns: 32, 64 or 128.
cudaError_t dot_entries(const EntryDots& job, int columns, cudaStream_t stream);
cudaError_t attend_rows(const EntryDots& job, int columns, cudaStream_t stream);

// Of `partial` in bytes.
constexpr std::size_t partial_bytes(std::uint32_t rows, int columns, std::uint32_t parts) {
  return parts <= 1 ? 0 : std::size_t{4} * rows * static_cast<std::size_t>(columns) * parts;
}

}  // namespace tandem::gpu_kernels
