// SPDX-License-Identifier: Apache-2.0
//
// Element-wise functions of a transformer step on f32. Each is one launch without workspace
// (graph-safe).
//
// Pointers aligned to 16 bytes are read and written 16 bytes at a time; an alignment of 4 is
// enough. Numerics: exponentials of the compiler's accurate library, quotients rounded to nearest.
// Cost: every byte is read and written once. Errors: cudaErrorInvalidValue for negative sizes or a
// bad cap.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tandem::gpu_kernels {

enum class GateFunction : std::uint8_t { kSilu, kGeluTanh };

// out = f(gate) * up, where f = x / (1 + e^-x) or GELU in its tanh form. GELU is computed as x / (1
// + e^(-2u)), so that nothing cancels. Before a product, norm/row_preparation.h fuses this function
// into the rows.
struct GatedActivation {
  std::int64_t count = 0;
  const float* gate = nullptr;  // [count]
  const float* up = nullptr;    // [count]
  float* out = nullptr;         // [count]; may be gate or up
  GateFunction function = GateFunction::kSilu;
};
cudaError_t gated_activation(const GatedActivation& job, cudaStream_t stream);

// x = cap * tanh(x / cap), cap finite and above 0.
struct Softcap {
  std::int64_t count = 0;
  float* x = nullptr;  // [count]
  float cap = 0;
};
cudaError_t softcap(const Softcap& job, cudaStream_t stream);

// out[row] += x[row] / (1 + e^-gate[row]).
struct GatedAdd {
  std::int64_t rows = 0;
  int width = 0;
  const float* x = nullptr;     // [rows, width]
  const float* gate = nullptr;  // [rows]
  float* out = nullptr;         // [rows, width]
};
cudaError_t gated_add(const GatedAdd& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
