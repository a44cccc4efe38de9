// SPDX-License-Identifier: Apache-2.0
//
// Cosines and sines of rotary positions: once per batch, for all layers that share frequencies.
//
// angle = position * inverse_frequency as a double; cos and sin are those of the double, times
// `magnitude`, rounded once to f32, as on the CPU unit. So positions may have any int32 value. The
// doubles differ from correctly rounded ones by about 2^-52. So a float rarely differs from the
// CPU's, and then by one unit in the last place. Method: reduction by pi/2 in two parts, then
// polynomials; the library's reduction of large doubles would need a stack frame. Graph-safe: one
// launch, no workspace. Cost: about 30 double operations per pair, once per batch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tandem::gpu_kernels {

struct RopeAngles {
  std::int64_t rows = 0;
  int pairs = 0;                               // rotated values of a head / 2
  const std::int32_t* positions = nullptr;     // [rows]
  const float* inverse_frequencies = nullptr;  // [pairs]
  float magnitude = 1.0f;
  float* cos_sin = nullptr;  // [rows, 2, pairs]: cosines, then sines
};

cudaError_t rope_angles(const RopeAngles& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
