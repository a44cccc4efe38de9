// SPDX-License-Identifier: Apache-2.0
//
// The step between the q, k, v products and attention: bias, head norm and rotary embedding of up
// to four targets, in one launch, in place.
//
// Per head of a target, in this order, each optional: + bias; RMS norm of the head; rotation of its
// first 2 * pairs values by the angles of rope/angles.h (pairs (2i, 2i + 1) when interleaved, else
// (i, i + pairs)). Heads of a row are contiguous; rows may be apart, as in the output of a joint
// product. Graph-safe: one launch, no workspace. Numerics: f32; a head's result depends on the head
// only. Cost: every value read and written once, a warp per head. Errors: cudaErrorInvalidValue for
// shapes that contradict this; head_dim at most 1,024.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tandem::gpu_kernels {

inline constexpr int kMaxRopeTargets = 4;

struct RopeTarget {
  float* x = nullptr;  // [rows, heads, head_dim]
  int heads = 0;
  std::int64_t row_stride = 0;  // floats from row to row; 0: heads * head_dim
  const float* bias = nullptr;  // [heads, head_dim] or none
  const float* norm = nullptr;  // [head_dim] or none
  bool rotates = true;          // false for v
};

struct Rope {
  std::int64_t rows = 0;
  int head_dim = 0;
  int pairs = 0;
  bool interleaved = true;
  float norm_epsilon = 1e-5f;
  const float* cos_sin = nullptr;  // [rows, 2, pairs]
  int num_targets = 0;
  RopeTarget targets[kMaxRopeTargets];
};

cudaError_t rope(const Rope& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
