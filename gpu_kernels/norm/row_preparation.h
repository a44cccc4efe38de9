// SPDX-License-Identifier: Apache-2.0
//
// Rows on their way into a product: f(x) in the forms that products read, in one launch.
//
// f is the RMS norm x / sqrt(mean(x^2) + epsilon) * weight, activation(x) * up, or nothing. With an
// addend x + addend takes the place of x (the residual sum in front of a norm) and is also written
// to `sum`. A row may be picked from others. Forms, any of them together:
//   f32; bf16 and f16, rounded to nearest even; e4m3 with a scale per row, max |f| / 448;
//   q8: int8 with a note per 32 values: peak = max |f|, q = f * (127 / peak) to nearest even,
//   scale = peak / 127; zeros below a peak of 2^-100. A block with NaN or infinity, and an e4m3
//   row, becomes zeros with scale NaN, which makes NaN of every output of its row.
// Pointers of rows are aligned to 16 bytes where width is a multiple of 4; any width is allowed,
// for q8 multiples of 32. `out` and `sum` may be x or addend, unless rows are picked.
// Graph-safe: one launch, no workspace. Numerics: sums in f32 over the threads of a block in a
// fixed order that depends on the width only, never on the other rows. Cost: x is read once from
// memory and once or twice more from the cache; a norm or e4m3 takes a block per row, the rest
// spreads a row over blocks. Errors: cudaErrorInvalidValue for what contradicts this.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/floats.h"

namespace tandem::gpu_kernels {

enum class RowFunction : std::uint8_t { kNone, kRmsNorm, kSiluUp, kGeluTanhUp };

// Of 32 neighbouring values of a row.
struct alignas(16) Q8Note {
  float scale;
  float scaled_sum;        // scale * sum of q
  std::int32_t sum;        // of q
  std::int32_t first_sum;  // of the first 16 q
};

struct RowForms {
  float* f32 = nullptr;          // [rows, width]
  BF16* bf16 = nullptr;          // [rows, width]
  F16* f16 = nullptr;            // [rows, width]
  E4M3* e4m3 = nullptr;          // [rows, width]
  float* e4m3_scales = nullptr;  // [rows], with e4m3
  std::int8_t* q8 = nullptr;     // [rows, width]
  Q8Note* q8_notes = nullptr;    // [rows, width / 32], with q8
  bool accumulate = false;       // f32 += f(x) in place of =
};

struct RowPreparation {
  std::int64_t rows = 0;
  int width = 0;
  const float* x = nullptr;             // [*, width]
  const std::int32_t* picks = nullptr;  // [rows] row i is x[picks[i]]; none: x[i]
  RowFunction function = RowFunction::kNone;
  const float* weight = nullptr;  // [width], of the norm
  float epsilon = 1e-5f;
  const float* up = nullptr;      // [*, width], picked like x
  const float* addend = nullptr;  // [*, width] or none; only with kRmsNorm and kNone
  float* sum = nullptr;           // [rows, width] or none
  RowForms to;
};

cudaError_t prepare_rows(const RowPreparation& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
