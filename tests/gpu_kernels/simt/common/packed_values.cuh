// SPDX-License-Identifier: Apache-2.0
//
// Replaces gpu_kernels/common/packed_values.cuh in the SIMT build.
#pragma once

#include <cuda_fp16.h>

#include "gpu_kernels/simt/simt.h"
#include "tensor/dtype.h"

namespace tandem::gpu_kernels {

inline std::uint32_t permute_bytes(std::uint32_t low, std::uint32_t high, std::uint32_t selector) {
  const std::uint64_t bytes = low | static_cast<std::uint64_t>(high) << 32;
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned from = selector >> (4 * i) & 7u;
    result |= static_cast<std::uint32_t>(bytes >> (8 * from) & 0xffu) << (8 * i);
  }
  return result;
}

// value(byte): f32.
template <typename Value>
void widen_bytes_by(const Value& value, std::uint32_t bytes, std::uint32_t& low,
                    std::uint32_t& high) {
  const auto half = [&](unsigned i) -> std::uint32_t {
    return __half_as_ushort(__float2half_rn(value(static_cast<std::uint8_t>(bytes >> (8 * i)))));
  };
  low = half(0) | half(1) << 16;
  high = half(2) | half(3) << 16;
}

inline void widen_i8(std::uint32_t bytes, std::uint32_t& low, std::uint32_t& high) {
  widen_bytes_by(
      [](std::uint8_t byte) { return static_cast<float>(static_cast<std::int8_t>(byte)); }, bytes,
      low, high);
}

inline void widen_e4m3(std::uint32_t bytes, std::uint32_t& low, std::uint32_t& high) {
  widen_bytes_by([](std::uint8_t byte) { return f8_to_f32(byte); }, bytes, low, high);
}

inline std::uint32_t transpose_matrix(std::uint32_t row) {
  const simt::LaneWords& rows = simt::exchange_words(&row, 1);
  const unsigned lane = threadIdx.x & 31u, column = lane / 4;
  const auto at = [&](unsigned matrix_row) {
    return rows.words[matrix_row * 4 + column / 2][0] >> (16 * (column % 2)) & 0xffffu;
  };
  return at(lane % 4 * 2) | at(lane % 4 * 2 + 1) << 16;
}

}  // namespace tandem::gpu_kernels
