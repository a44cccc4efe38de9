// SPDX-License-Identifier: Apache-2.0
//
// The end of an item: joins the results of warps with the same query heads.
//
// The warps have stored O, peaks and sums in shared memory (leave_rows() of decode_rows.cuh) and
// passed a barrier. All lanes of the kDecodeWarps warps call it; it reads shared memory only.
#pragma once

#include "attention/decode_rows.cuh"
#include "common/logarithms.cuh"

namespace tandem::gpu_kernels {

// o: the result of warp 0; each further warp's is warp_bytes later.
template <KvType kType, int kWidth, int kRowTiles>
__device__ void join_warps(const DecodeLaunch& job, const ItemWalk& walk, const unsigned char* o,
                           int warp_bytes, const float* stats) {
  constexpr int kRows = 8 * kRowTiles;
  const int lane = static_cast<int>(threadIdx.x & 31u), warp = static_cast<int>(threadIdx.x / 32u);
  for (int r = warp; r < walk.item.num; r += kDecodeWarps) {
    const int first = r / kRows, row = r % kRows;
    float peak = minus_infinity(), v_unit = kLeastUnit;
    for (int w = first; w < kDecodeWarps; w += walk.ways) {
      peak = fmaxf(peak, stats[w * 32 + row]);
      v_unit = fmaxf(v_unit, stats[kDecodeWarps * 32 + w]);
    }
    const float zero = peak == minus_infinity() ? 0.0f : peak;
    float total = 0.0f;
    float values[kWidth / 32 + 1] = {};
    for (int w = first; w < kDecodeWarps; w += walk.ways) {
      const float weight = exp2f(stats[w * 32 + row] - zero);
      total += weight * stats[w * 32 + 16 + row];
      const float of_o = weight * (stats[kDecodeWarps * 32 + w] / v_unit);
      const auto* part = reinterpret_cast<const float*>(o + w * warp_bytes) + row * kWidth;
#pragma unroll
      for (int i = 0; i * 32 < kWidth; ++i) {
        if (i * 32 + lane < kWidth) values[i] = fmaf(of_o, part[i * 32 + lane], values[i]);
      }
    }
    const float inverse = total == 0.0f ? 0.0f : 1.0f / total;
    const RowResult result = row_result(job, walk.item, r, kWidth);
#pragma unroll
    for (int i = 0; i * 32 < kWidth; ++i) {
      const int d = i * 32 + lane;
      float value = values[i] * inverse;
      if constexpr (has_scales(kType)) value *= v_unit;
      if (d < result.width) result.o[d] = value;
    }
    if (lane == 0) *result.lse = kLn2 * (zero - kProbabilityShift) + logf(total);
  }
}

}  // namespace tandem::gpu_kernels
