// SPDX-License-Identifier: Apache-2.0
//
// Words of two 16-bit or four 8-bit values: bytes chosen and interleaved, pairs of f16 subtracted,
// and an 8 x 8 matrix of 16-bit values transposed over a warp.
//
// transpose_matrix: lane i gives row i / 4, columns 2 (i % 4) and + 1, and receives the same of the
// transposed matrix; all 32 lanes call it together. Cost: one instruction each. Source: PTX ISA,
// prmt, sub and movmatrix.
#pragma once

#include <cstdint>

namespace tandem::gpu_kernels {

// Byte i of the result is byte (selector >> 4 i) & 7 of low (0..3) and high (4..7).
__device__ inline std::uint32_t permute_bytes(std::uint32_t low, std::uint32_t high,
                                              std::uint32_t selector) {
  return __byte_perm(low, high, selector);
}

// Pairs of f16.
__device__ inline std::uint32_t subtract_halves(std::uint32_t a, std::uint32_t b) {
  std::uint32_t difference;
  asm("sub.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
  return difference;
}

__device__ inline std::uint32_t transpose_matrix(std::uint32_t row) {
  std::uint32_t column;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(column) : "r"(row));
  return column;
}

}  // namespace tandem::gpu_kernels
