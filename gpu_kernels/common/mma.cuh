// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of one warp (mma.sync, sm_80 and later), the loads of their fragments (ldmatrix),
// and packing of f32 into 16-bit pairs.
//
// All 32 lanes of a warp call every function together, except the packing ones. Numerics: products
// of two 16-bit values are exact in f32. The hardware truncates addends below the last place of the
// largest one, so each instruction makes a sum smaller in magnitude by up to some 2^-23 of that
// addend. The version for the tests' interpreter rounds to nearest. Source: PTX ISA, "Warp Level
// Matrix Instructions".
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace tandem::gpu_kernels {

// The 16-bit types of operands: their conversions round to nearest even.
struct Half {
  static __device__ std::uint16_t narrow(float value) {
    return __half_as_ushort(__float2half_rn(value));
  }
  static __device__ float widen(std::uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
};
struct Bfloat {
  static __device__ std::uint16_t narrow(float value) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
  }
  static __device__ float widen(std::uint16_t bits) {
    return __uint_as_float(static_cast<unsigned>(bits) << 16);
  }
};

// Two values as T, `low` in the lower bits.
template <typename T>
__device__ std::uint32_t pack(float low, float high);
template <>
__device__ inline std::uint32_t pack<Half>(float low, float high) {
  std::uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
template <>
__device__ inline std::uint32_t pack<Bfloat>(float low, float high) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// Two values as sums of a high and a low part of type T. Error: 2^-17 of a value (Bfloat); the
// larger of 2^-23 of it and 2^-25 (Half, up to 65,504).
template <typename T>
__device__ void split(float low, float high, std::uint32_t& high_parts, std::uint32_t& low_parts) {
  high_parts = pack<T>(low, high);
  low_parts = pack<T>(low - T::widen(static_cast<std::uint16_t>(high_parts)),
                      high - T::widen(static_cast<std::uint16_t>(high_parts >> 16)));
}

// d += a b, 16 x 16 by 16 x 8, of T. With g = lane / 4 and t = lane % 4, a word of 32 bits holds
// two 16-bit values, the lower column or row in the lower bits:
//   a: a[0] (row g, columns 2t, 2t+1), a[1] (row g+8, same), a[2] (row g, columns 2t+8, 2t+9), a[3]
//     (row g+8, same columns as a[2])
//   b: b0 (rows 2t, 2t+1 of column g), b1 (rows 2t+8, 2t+9)
//   d: d[0], d[1] (row g, columns 2t, 2t+1), d[2], d[3] (row g+8, same)
// So d of two neighbouring products of eight columns, packed pairwise, is a of the next product.
template <typename T>
__device__ void multiply_accumulate(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1);
template <>
__device__ inline void multiply_accumulate<Half>(float (&d)[4], const std::uint32_t (&a)[4],
                                                 std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ inline void multiply_accumulate<Bfloat>(float (&d)[4], const std::uint32_t (&a)[4],
                                                   std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// d += a b, 16 x 32 by 32 x 8, of signed bytes: exact modulo 2^32. As above with four values in a
// word: columns of a and rows of b are 4t..4t+3 and 4t+16..4t+19.
__device__ inline void multiply_accumulate_bytes(std::int32_t (&d)[4], const std::uint32_t (&a)[4],
                                                 std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Loads four 8 x 8 matrices of 16-bit values from shared memory. Lane i gives the address of row i
// % 8 of matrix i / 8, aligned to 16 bytes. words[m] receives row g, columns 2t, 2t+1 of matrix m.
__device__ inline void load_matrices(std::uint32_t (&words)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}
// The same of the transposed matrices.
__device__ inline void load_matrices_transposed(std::uint32_t (&words)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}

}  // namespace tandem::gpu_kernels
