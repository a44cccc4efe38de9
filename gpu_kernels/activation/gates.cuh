// SPDX-License-Identifier: Apache-2.0
//
// SiLU, GELU in its tanh form and the soft cap of one value.
//
// 0.5 (1 + tanh u) = 1 / (1 + e^(-2u)), so both gates are x / (1 + e^-z): nothing cancels, and what
// overflows becomes 0. Threads: any; pure functions. Cost: one exponential and one division.
#pragma once

#include <cuda_runtime_api.h>

namespace tandem::gpu_kernels {

__device__ inline float silu(float x) { return x / (1.0f + expf(-x)); }

__device__ inline float gelu_tanh(float x) {
  const float u = x * (1.0f + 0.044715f * x * x) * (2.0f * 0.7978845608f);
  return x / (1.0f + expf(-u));
}

__device__ inline float cap_softly(float x, float cap) { return cap * tanhf(x / cap); }

}  // namespace tandem::gpu_kernels
