// SPDX-License-Identifier: Apache-2.0
//
// Merging partial attention results of the same queries: L = ln sum exp(L_i), O = sum exp(L_i - L)
// O_i, over the partials that cover a row; a row that none covers becomes 0 with L = -inf.
//
// Exact and independent of the partials' order up to rounding. Partials with L_i = -inf weigh
// nothing, whatever stands in their O; NaN stays with its row and head. `coverage` says which
// partials a row has; the host writes it with plan_merge().
// Graph-safe: one launch, no workspace; with coverage in device memory at a fixed place a captured
// launch serves every batch of `rows` rows, whatever covers them. Cost: every covered (O, LSE) row
// read once. Errors: cudaErrorInvalidValue for shapes that are not positive.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tandem::gpu_kernels {

struct MergeSource {
  const float* o = nullptr;    // [rows, heads, head_dim]
  const float* lse = nullptr;  // [rows, heads]
};

struct MergePartials {
  std::int64_t rows = 0;
  int heads = 0, head_dim = 0;
  const void* coverage = nullptr;  // plan_merge()'s, in device memory, aligned to 16
  float* out = nullptr;            // [rows, heads, head_dim]; may be the O of a source
  float* lse = nullptr;            // [rows, heads] or none; may be the LSE of a source
};

// Bytes of the coverage of `rows` rows by sources that list `num_listed` rows in all.
std::size_t merge_coverage_bytes(std::int64_t rows, std::size_t num_listed);

// One source and the rows that it answers.
struct MergeCover {
  MergeSource source;
  std::span<const std::int32_t> rows;
};

// Writes the coverage to host memory aligned to 16, from where the caller copies it to the device.
// False when a row is outside 0..rows-1 or `coverage` is too small.
bool plan_merge(std::int64_t rows, std::span<const MergeCover> covers,
                std::span<std::byte> coverage);

cudaError_t merge_partials(const MergePartials& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
