// SPDX-License-Identifier: Apache-2.0
//
// Quads: four neighbouring values of a row, the unit of a thread of an element-wise kernel.
//
// An aligned quad lies entirely in the row and is one access of 16 bytes (8 for 16-bit, 4 for 8-bit
// values). Other quads are accessed value by value: values from `width` on read as 0 and are not
// written. If neighbouring threads take neighbouring quads, their accesses coalesce.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/floats.h"

namespace tandem::gpu_kernels {

struct Quad {
  float v[4];
};

template <bool kAligned>
__device__ Quad load_quad(const float* row, int at, int width) {
  if constexpr (kAligned) {
    const float4 q = *reinterpret_cast<const float4*>(row + at);
    return {{q.x, q.y, q.z, q.w}};
  } else {
    Quad quad;
#pragma unroll
    for (int i = 0; i < 4; ++i) quad.v[i] = at + i < width ? row[at + i] : 0.0f;
    return quad;
  }
}

template <bool kAligned>
__device__ void store_quad(float* row, int at, int width, const Quad& quad) {
  if constexpr (kAligned) {
    *reinterpret_cast<float4*>(row + at) = make_float4(quad.v[0], quad.v[1], quad.v[2], quad.v[3]);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (at + i < width) row[at + i] = quad.v[i];
    }
  }
}

// Stores a quad of 8-bit or 16-bit values. `Word` has the size of a quad: std::uint32_t for 8-bit
// values, std::uint64_t for 16-bit values.
template <bool kAligned, typename Word, typename Value>
__device__ void store_packed(Value* row, int at, int width, const Value (&values)[4]) {
  static_assert(sizeof(Word) == sizeof(values));
  if constexpr (kAligned) {
    Word word = 0;
#pragma unroll
    for (int i = 3; i >= 0; --i) {
      word = static_cast<Word>(word << (8 * sizeof(Value))) | static_cast<Word>(values[i]);
    }
    *reinterpret_cast<Word*>(row + at) = word;
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (at + i < width) row[at + i] = values[i];
    }
  }
}

inline bool is_aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

}  // namespace tandem::gpu_kernels
