// SPDX-License-Identifier: Apache-2.0
//
// Conversions between the types in which values are sent (f32, f16, bf16, f64, u64) and added up
// (f32, f64, u64).
//
// Rounding to f16 and bf16 is to nearest even; a NaN stays a quiet NaN of its sign. The bits are
// those of the scalar conversions on the host (a test compiles these functions there and compares).
// Threads: stateless. Cost: one conversion instruction and a select.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "common/floats.h"

namespace tandem::gpu_kernels {

enum class ValueType : std::uint8_t { kF32, kF16, kBF16, kF64, kU64 };

// Bytes of one value on the wire, and of one value in the sum's type.
constexpr std::size_t wire_bytes(ValueType type) {
  if (type == ValueType::kF32) return 4;
  return type == ValueType::kF16 || type == ValueType::kBF16 ? 2 : 8;
}
constexpr std::size_t sum_bytes(ValueType type) {
  return type == ValueType::kF64 || type == ValueType::kU64 ? 8 : 4;
}

// The types without a narrower form; f16 and bf16: common/floats.h.
__host__ __device__ inline double widen(double value) { return value; }
__host__ __device__ inline std::uint64_t widen(std::uint64_t value) { return value; }
__host__ __device__ inline void narrow(double value, double& to) { to = value; }
__host__ __device__ inline void narrow(std::uint64_t value, std::uint64_t& to) { to = value; }

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
