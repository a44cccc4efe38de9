// SPDX-License-Identifier: Apache-2.0
//
// The narrow floats (f16, bf16, e4m3) as bits, and their conversions from and to f32.
//
// Rounding is to nearest even; a NaN stays a NaN of its sign; e4m3 saturates at 448, infinity too.
// The bits are those of tensor/dtype.h (a test compiles these functions on the host and compares).
// Threads: stateless. Cost: f16 and bf16 a conversion instruction or two and a select; e4m3 some
// ten integer instructions, so that it works the same on every architecture.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>

namespace tandem::gpu_kernels {

struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};
struct E4M3 {
  std::uint8_t bits;
};

__host__ __device__ inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
__host__ __device__ inline float float_of(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

__host__ __device__ inline float widen(float value) { return value; }
__host__ __device__ inline float widen(BF16 value) {
  return float_of(static_cast<std::uint32_t>(value.bits) << 16);
}
__host__ __device__ inline float widen(F16 value) {
  const std::uint32_t magnitude = value.bits & 0x7fffu;
  if (magnitude > 0x7c00u) {
    return float_of((static_cast<std::uint32_t>(value.bits & 0x8000u) << 16) | 0x7f800000u |
                    ((magnitude & 0x3ffu) << 13));
  }
  return __half2float(__ushort_as_half(value.bits));
}
// The exponent in place is 120 too small; the product also normalises subnormals.
__host__ __device__ inline float widen(E4M3 value) {
  const std::uint32_t magnitude = value.bits & 0x7fu;
  const std::uint32_t sign = (value.bits & 0x80u) << 24;
  if (magnitude == 0x7fu) return float_of(sign | 0x7fc00000u);
  return float_of(bits_of(float_of(magnitude << 20) * 0x1p120f) | sign);
}

// narrow() converts to the type of its second argument.
__host__ __device__ inline void narrow(float value, float& to) { to = value; }
__host__ __device__ inline void narrow(float value, F16& to) {
  const std::uint32_t bits = bits_of(value);
  to.bits = (bits & 0x7fffffffu) > 0x7f800000u
                ? static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | 0x7e00u)
                : __half_as_ushort(__float2half_rn(value));
}
__host__ __device__ inline void narrow(float value, BF16& to) {
  const std::uint32_t bits = bits_of(value);
  to.bits = static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u
                                           ? (bits >> 16) | 0x40u
                                           : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
__host__ __device__ inline void narrow(float value, E4M3& to) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t rounded;
  if (magnitude > 0x7f800000u) {
    rounded = 0x7fu;
  } else if (magnitude >= 0x43e00000u) {  // 448
    rounded = 0x7eu;
  } else if (magnitude < 0x3c800000u) {  // below 2^-6 the sum rounds to units of 2^-9
    rounded = bits_of(float_of(magnitude) + 16384.0f) - 0x46800000u;
  } else {
    rounded = (magnitude - 0x3c000000u + 0x7ffffu + ((magnitude >> 20) & 1u)) >> 20;
  }
  to.bits = static_cast<std::uint8_t>(((bits >> 24) & 0x80u) | rounded);
}

}  // namespace tandem::gpu_kernels
