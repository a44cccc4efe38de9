// SPDX-License-Identifier: Apache-2.0
//
// Adds a gradient to the residual (the parts of earlier gradients that were not sent), and measures
// it in the same pass.
//
// Numerics: one rounding to f32 per product and per addition, subnormals are kept. Without a
// velocity the bits are those of a plain loop on the host. Sums are in f64; their order depends on
// num_values alone. A NaN or an infinity is left out of the sums; the first one is reported.
// Graph-safe: no allocation, no synchronisation; the caller owns `workspace`. Errors:
// cudaErrorInvalidValue for 2^32 values and more, or another type than f32, f16, bf16.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "sparse/wire_values.h"

namespace tandem::gpu_kernels {

inline constexpr std::uint64_t kAllFinite = ~std::uint64_t{0};

// Figures of the finite values x with |x| >= `least` of the job.
struct GradientMeasurement {
  double sum;         // of |x|
  double signed_sum;  // of x
  double squares;
  double log_sum;  // of ln |x|, over `positive`: zeros and subnormal values are left out
  std::uint64_t count;
  std::uint64_t positive;          // 0 without `logarithms`
  std::uint64_t first_non_finite;  // the lowest place of a NaN or an infinity, or kAllFinite
  float largest;                   // |x|; 0 if there is none
  float smallest;                  // |x|; infinity if there is none
};

// g = gradient; with `clips` a NaN becomes 0, and other values are limited to [-clip_at, clip_at].
//   velocity, if there is one:  velocity = momentum * velocity + scale * g;  g = velocity
//   residual, if there is one:  residual = decay * residual + g
// Measured: the new residual; g if there is none. Two launches. Bytes per value: the gradient's
// 2 or 4 read, 8 for the residual, 8 for the velocity. Arrays that are all aligned to 16 bytes (8
// for a 16-bit gradient) are read in full width.
struct AccumulateGradient {
  const void* gradient = nullptr;  // [num_values] of `type`
  ValueType type = ValueType::kF32;
  std::uint64_t num_values = 0;
  float* residual = nullptr;  // [num_values]
  float* velocity = nullptr;  // [num_values]
  float momentum = 0;
  float scale = 1;  // with a velocity only
  float decay = 1;
  bool clips = false;
  float clip_at = 0;
  bool logarithms = false;
  float least = 0;
  GradientMeasurement* measurement = nullptr;  // [1] device memory, written
  void* workspace = nullptr;                   // accumulate_workspace_bytes(), aligned to 8
};

std::size_t accumulate_workspace_bytes(std::uint64_t num_values);

cudaError_t accumulate_gradient(const AccumulateGradient& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
