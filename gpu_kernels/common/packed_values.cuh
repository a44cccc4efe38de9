// SPDX-License-Identifier: Apache-2.0
//
// Functions on words of two 16-bit or four 8-bit values: permute bytes, widen four 8-bit values to
// two pairs of f16, transpose an 8 x 8 matrix of 16-bit values over a warp.
//
// Widening is exact. Bytes 0, 1 go into `low` and 2, 3 into `high`, the lower byte in the lower
// bits. The NaN of e4m3 stays a NaN on sm_89 and later, and becomes 480 on older devices; the scale
// of a row with NaN is NaN.
// transpose_matrix: lane i passes row i / 4, columns 2 (i % 4) and + 1, and receives these of the
// transposed matrix; all 32 lanes call it together. Cost: one instruction; to widen five (i8), two
// (e4m3 by conversion) or ten. Source: PTX ISA, prmt, cvt and movmatrix.
#pragma once

#include <cstdint>

namespace tandem::gpu_kernels {

// Byte i of the result is byte (selector >> 4 i) & 7 of low (0..3) and high (4..7).
__device__ inline std::uint32_t permute_bytes(std::uint32_t low, std::uint32_t high,
                                              std::uint32_t selector) {
  return __byte_perm(low, high, selector);
}

__device__ inline void widen_i8(std::uint32_t bytes, std::uint32_t& low, std::uint32_t& high) {
  // 0x64 above a byte u is the f16 of 1024 + u; 0x6480 that of 1152
  const std::uint32_t biased = bytes ^ 0x80808080u;
  low = permute_bytes(biased, 0x64u, 0x4140);
  high = permute_bytes(biased, 0x64u, 0x4342);
  asm("sub.f16x2 %0, %0, %1;" : "+r"(low) : "r"(0x64806480u));
  asm("sub.f16x2 %0, %0, %1;" : "+r"(high) : "r"(0x64806480u));
}

__device__ inline void widen_e4m3(std::uint32_t bytes, std::uint32_t& low, std::uint32_t& high) {
#if __CUDA_ARCH__ >= 890
  asm("{.reg .b16 first, second; mov.b32 {first, second}, %2;"
      " cvt.rn.f16x2.e4m3x2 %0, first; cvt.rn.f16x2.e4m3x2 %1, second;}"
      : "=r"(low), "=r"(high)
      : "r"(bytes));
#else
  // exponent and mantissa one place below the sign's: 2^-8 of the value, whose bias is 8 less
  const std::uint32_t upper_low = permute_bytes(bytes, 0, 0x1404);
  const std::uint32_t upper_high = permute_bytes(bytes, 0, 0x3424);
  low = (upper_low & 0x80008000u) | ((upper_low >> 1) & 0x3f803f80u);
  high = (upper_high & 0x80008000u) | ((upper_high >> 1) & 0x3f803f80u);
  asm("mul.f16x2 %0, %0, %1;" : "+r"(low) : "r"(0x5c005c00u));
  asm("mul.f16x2 %0, %0, %1;" : "+r"(high) : "r"(0x5c005c00u));
#endif
}

__device__ inline std::uint32_t transpose_matrix(std::uint32_t row) {
  std::uint32_t column;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(column) : "r"(row));
  return column;
}

}  // namespace tandem::gpu_kernels
