// SPDX-License-Identifier: Apache-2.0
//
// CUDA's conversions between f32 and f16, by those of tensor/dtype.h: round to nearest even.
//
// A build with the CUDA toolkit holds the toolkit's own against the same (gpu_host_functions_test).
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

struct __half {
  std::uint16_t bits;
};

inline __half __ushort_as_half(std::uint16_t bits) { return {bits}; }
inline std::uint16_t __half_as_ushort(__half value) { return value.bits; }
inline __half __float2half_rn(float value) { return {tandem::f32_to_f16(value)}; }
inline float __half2float(__half value) { return tandem::f16_to_f32(value.bits); }
