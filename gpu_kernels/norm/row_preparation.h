// SPDX-License-Identifier: Apache-2.0
//
// Prepares rows for a product: writes f(x) in the forms that products read, in one launch.
//
// f is the RMS norm x / sqrt(mean(x^2) + epsilon) * weight, activation(x) * up, or the identity.
// With an addend, x + addend replaces x (the residual sum before a norm) and is also written to
// `sum`. Graph-safe: one launch, no workspace. Numerics: sums are f32, over the threads of a block
// in a fixed order that depends on the width only, never on the other rows. Cost: x is read once
// from memory and once or twice more from the cache. A norm or e4m3 takes one block per row; other
// functions spread a row over blocks. Errors: cudaErrorInvalidValue for other shapes than the
// stated ones.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/floats.h"

namespace tandem::gpu_kernels {

enum class RowFunction : std::uint8_t { kNone, kRmsNorm, kSiluUp, kGeluTanhUp };

// The note of 32 neighbouring values of a row.
struct alignas(16) Q8Note {
  float scale;
  float scaled_sum;        // scale * sum of q
  std::int32_t sum;        // sum of q
  std::int32_t first_sum;  // sum of the first 16 q
};

// The forms to write, in any combination. bf16 and f16 are rounded to nearest even. e4m3 has one
// scale per row, max |f| / 448. q8 is int8 with a note per 32 values: peak = max |f|, q = f * (127
// / peak) to nearest even, scale = peak / 127; zeros below a peak of 2^-100. NaN or infinity turns
// the q8 block, or the e4m3 row, into zeros with scale NaN, which gives NaN in every output of the
// row.
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

// Row pointers are aligned to 16 bytes if width is a multiple of 4. Any width is allowed; q8 needs
// multiples of 32. An output or `sum` may be x or addend, unless rows are picked.
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
