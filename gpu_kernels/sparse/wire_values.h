// SPDX-License-Identifier: Apache-2.0
//
// Values as they travel (f32, f16, bf16, f64, u64) and as they are added up (f32, f64, u64).
//
// Rounding to f16 and bf16 is to nearest even; a NaN stays a quiet NaN of its sign. The bits are
// those of the scalar conversions on the host (a test compiles these functions there and compares).
// Threads: stateless. Cost: one conversion instruction and a select.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tandem::gpu_kernels {

enum class ValueType : std::uint8_t { kF32, kF16, kBF16, kF64, kU64 };

struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};

// Bytes of one value on the wire, and of one where it is added up.
constexpr std::size_t wire_bytes(ValueType type) {
  if (type == ValueType::kF32) return 4;
  return type == ValueType::kF16 || type == ValueType::kBF16 ? 2 : 8;
}
constexpr std::size_t sum_bytes(ValueType type) {
  return type == ValueType::kF64 || type == ValueType::kU64 ? 8 : 4;
}

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

// Wire -> sum.
__host__ __device__ inline float widen(float value) { return value; }
__host__ __device__ inline double widen(double value) { return value; }
__host__ __device__ inline std::uint64_t widen(std::uint64_t value) { return value; }
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

// Sum -> wire, by overload on the second argument.
__host__ __device__ inline void narrow(float value, float& to) { to = value; }
__host__ __device__ inline void narrow(double value, double& to) { to = value; }
__host__ __device__ inline void narrow(std::uint64_t value, std::uint64_t& to) { to = value; }
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

// Calls body(Wire{}) with the wire type, so that its result may be templated on it.
template <typename Body>
auto with_wire(ValueType type, Body&& body) {
  switch (type) {
    case ValueType::kF16:
      return body(F16{});
    case ValueType::kBF16:
      return body(BF16{});
    case ValueType::kF64:
      return body(double{});
    case ValueType::kU64:
      return body(std::uint64_t{});
    default:
      return body(float{});
  }
}

}  // namespace tandem::gpu_kernels
