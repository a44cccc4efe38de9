// SPDX-License-Identifier: Apache-2.0
//
// Merges partial attention results of the same queries: L = ln sum exp(L_i) and O = sum exp(L_i -
// L) O_i, over the partials that cover a row. A row without partials becomes 0 with L = -inf.
//
// Exact and independent of the order of the partials, up to rounding. A partial with L_i = -inf has
// weight 0, whatever its O holds. NaN stays with its row and head. Graph-safe: one launch, no
// workspace. With coverage at a fixed address in device memory, a captured launch serves every
// batch of `rows` rows. Cost: every covered (O, LSE) row is read once.
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
  const void* coverage = nullptr;  // written by plan_merge(); in device memory, aligned to 16
  float* out = nullptr;            // [rows, heads, head_dim]; may be the O of a source
  float* lse = nullptr;            // [rows, heads] or none; may be the LSE of a source
};

// Bytes of the coverage of `rows` rows by sources that list `num_listed` rows in all.
std::size_t merge_coverage_bytes(std::int64_t rows, std::size_t num_listed);

// One source and the rows for which it has a result.
struct MergeCover {
  MergeSource source;
  std::span<const std::int32_t> rows;
};

// Writes which partials cover each row. `coverage`: host memory, aligned to 16; the caller copies
// it to the device. False when a row is outside 0..rows-1 or `coverage` is too small.
bool plan_merge(std::int64_t rows, std::span<const MergeCover> covers,
                std::span<std::byte> coverage);

// Errors: cudaErrorInvalidValue for shapes that are not positive.
cudaError_t merge_partials(const MergePartials& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
