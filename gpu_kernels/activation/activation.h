// SPDX-License-Identifier: Apache-2.0
//
// Element-wise functions of a transformer step on f32.
//
//   gated_activation  out = f(gate) * up, f = x / (1 + e^-x) or GELU in its tanh form
//   softcap           x = cap * tanh(x / cap), cap finite and above 0
//   gated_add         out[row] += x[row] / (1 + e^-gate[row])
// In front of a product the first is fused into its rows (norm/row_preparation.h). `out` may be
// gate or up. Pointers aligned to 16 bytes make full accesses; other alignments (of 4) work.
// Graph-safe: one launch each, no workspace. Numerics: exponentials of the compiler's accurate
// library, quotients rounded to nearest; GELU as x / (1 + e^(-2u)), so that nothing cancels.
// Cost: bytes read and written once. Errors: cudaErrorInvalidValue for negative sizes or a bad cap.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tandem::gpu_kernels {

enum class GateFunction : std::uint8_t { kSilu, kGeluTanh };

struct GatedActivation {
  std::int64_t count = 0;
  const float* gate = nullptr;  // [count]
  const float* up = nullptr;    // [count]
  float* out = nullptr;         // [count]
  GateFunction function = GateFunction::kSilu;
};
cudaError_t gated_activation(const GatedActivation& job, cudaStream_t stream);

struct Softcap {
  std::int64_t count = 0;
  float* x = nullptr;  // [count]
  float cap = 0;
};
cudaError_t softcap(const Softcap& job, cudaStream_t stream);

struct GatedAdd {
  std::int64_t rows = 0;
  int width = 0;
  const float* x = nullptr;     // [rows, width]
  const float* gate = nullptr;  // [rows]
  float* out = nullptr;         // [rows, width]
};
cudaError_t gated_add(const GatedAdd& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
