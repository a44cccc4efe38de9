// SPDX-License-Identifier: Apache-2.0
//
// Takes the place of gpu_kernels/common/packed_values.cuh in the SIMT build.
#pragma once

#include <cuda_fp16.h>

#include "gpu_kernels/simt/simt.h"

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

inline std::uint32_t subtract_halves(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result = 0;
  for (unsigned shift = 0; shift < 32; shift += 16) {
    const auto half = [shift](std::uint32_t pair) {
      return __half2float(__ushort_as_half(static_cast<std::uint16_t>(pair >> shift)));
    };
    result |= static_cast<std::uint32_t>(__half_as_ushort(__float2half_rn(half(a) - half(b))))
              << shift;
  }
  return result;
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
