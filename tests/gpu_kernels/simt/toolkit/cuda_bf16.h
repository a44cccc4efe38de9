// SPDX-License-Identifier: Apache-2.0
//
// CUDA's conversions between f32 and bf16, by those of tensor/dtype.h: round to nearest even.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

struct __nv_bfloat16 {
  std::uint16_t bits;
};

inline __nv_bfloat16 __ushort_as_bfloat16(std::uint16_t bits) { return {bits}; }
inline std::uint16_t __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return {tandem::f32_to_bf16(value)}; }
inline float __bfloat162float(__nv_bfloat16 value) { return tandem::bf16_to_f32(value.bits); }
