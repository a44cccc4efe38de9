// SPDX-License-Identifier: Apache-2.0
//
// Rounds a row of k or v to a pool's type, a warp at a time.
//
// Lane i holds values 4 (i + 32 j) .. + 3 of the row, j = 0, 1, with zeros after the row's end. The
// rule is kv_cache/append.h's, bit-equal to the host: one f32 division or product per value, none
// contracted. Kernels with k and v in registers may use it.
#pragma once

#include "common/warp.cuh"
#include "kv_cache/kv_pool.h"

namespace tandem::gpu_kernels {

inline constexpr int kRowQuads = 2;  // of four values per lane: rows of up to 256

// The bits of the largest magnitude of a row: as integers NaN and infinity are the largest.
__device__ inline unsigned row_peak_bits(const float (&values)[kRowQuads][4]) {
  unsigned bits = 0;
#pragma unroll
  for (int quad = 0; quad < kRowQuads; ++quad) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned own = __float_as_uint(values[quad][i]) & 0x7fffffffu;
      bits = own > bits ? own : bits;
    }
  }
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const unsigned other = __shfl_xor_sync(kAllLanes, bits, distance);
    bits = other > bits ? other : bits;
  }
  return bits;
}

// The factor of values before they are rounded, and the scale that is stored.
struct RowScale {
  float inverse, scale;
};
template <KvType kType>
__device__ RowScale row_scale(unsigned peak_bits) {
  if (peak_bits >= 0x7f800000u) return {0.0f, __uint_as_float(0x7fc00000u)};
  if constexpr (kType == KvType::kI8) {
    const float scale = __fdiv_rn(__uint_as_float(peak_bits), 127.0f);
    return {scale > 0x1p-126f ? __fdiv_rn(1.0f, scale) : 0.0f, scale};
  } else {
    // 448 = 1.75 * 2^8
    int exponent = static_cast<int>(peak_bits >> 23) - 127 - 8;
    if ((peak_bits & 0x7fffffu) > 0x600000u) ++exponent;
    exponent = peak_bits < 0x00800000u || exponent < -126 ? -126 : exponent;
    exponent = exponent > 119 ? 119 : exponent;
    return {__uint_as_float(static_cast<unsigned>(127 - exponent) << 23),
            __uint_as_float(static_cast<unsigned>(127 + exponent) << 23)};
  }
}

template <KvType kType>
__device__ std::uint32_t round_value(float value, const RowScale& scale) {
  if constexpr (kType == KvType::kF16) {
    F16 to;
    narrow(value, to);
    return to.bits;
  } else if constexpr (kType == KvType::kBF16) {
    BF16 to;
    narrow(value, to);
    return to.bits;
  } else if constexpr (kType == KvType::kE4M3) {
    E4M3 to;
    narrow(scale.inverse == 0.0f ? 0.0f : __fmul_rn(value, scale.inverse), to);
    return to.bits;
  } else {
    const float scaled = scale.inverse == 0.0f ? 0.0f : __fmul_rn(value, scale.inverse);
    return static_cast<std::uint32_t>(static_cast<int>(rintf(scaled))) & 0xffu;
  }
}

// Stores the row at `to` [width] (a multiple of 16), and where the type has one its scale.
template <KvType kType>
__device__ void store_row(const float (&values)[kRowQuads][4], int width, unsigned char* to,
                          float* scale_to) {
  const int lane = static_cast<int>(threadIdx.x & 31u);
  RowScale scale{1.0f, 1.0f};
  if constexpr (has_scales(kType)) {
    scale = row_scale<kType>(row_peak_bits(values));
    if (lane == 0) *scale_to = scale.scale;
  }
#pragma unroll
  for (int quad = 0; quad < kRowQuads; ++quad) {
    const int d = (quad * 32 + lane) * 4;
    if (d >= width) continue;
    std::uint32_t rounded[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) rounded[i] = round_value<kType>(values[quad][i], scale);
    if constexpr (has_scales(kType)) {
      *reinterpret_cast<std::uint32_t*>(to + d) =
          rounded[0] | rounded[1] << 8 | rounded[2] << 16 | rounded[3] << 24;
    } else {
      *reinterpret_cast<uint2*>(to + 2 * d) =
          make_uint2(rounded[0] | rounded[1] << 16, rounded[2] | rounded[3] << 16);
    }
  }
}

}  // namespace tandem::gpu_kernels
