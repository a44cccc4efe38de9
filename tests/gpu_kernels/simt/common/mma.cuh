// SPDX-License-Identifier: Apache-2.0
//
// Replaces gpu_kernels/common/mma.cuh in the SIMT build: the same fragments, by exchange between
// the lanes of a warp.
//
// Sums are added in the order of the columns of a, rounded to nearest.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

#include "gpu_kernels/simt/simt.h"

namespace tandem::gpu_kernels {

struct Half {
  static std::uint16_t narrow(float value) { return __half_as_ushort(__float2half_rn(value)); }
  static float widen(std::uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
};
struct Bfloat {
  static std::uint16_t narrow(float value) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
  }
  static float widen(std::uint16_t bits) { return __bfloat162float(__ushort_as_bfloat16(bits)); }
};

template <typename T>
std::uint32_t pack(float low, float high) {
  return T::narrow(low) | static_cast<std::uint32_t>(T::narrow(high)) << 16;
}

template <typename T>
void split(float low, float high, std::uint32_t& high_parts, std::uint32_t& low_parts) {
  high_parts = pack<T>(low, high);
  low_parts = pack<T>(low - T::widen(static_cast<std::uint16_t>(high_parts)),
                      high - T::widen(static_cast<std::uint16_t>(high_parts >> 16)));
}

// The values of a and b of every lane, widened: kPerWord of each of a's four words, then b's two.
template <typename Value, int kPerWord, typename Widen>
const simt::LaneWords& exchange_operands(const std::uint32_t (&words)[6], const Widen& widen) {
  Value values[6 * kPerWord];
  for (int i = 0; i < 6 * kPerWord; ++i) {
    values[i] = widen(words[i / kPerWord] >> (32 / kPerWord * (i % kPerWord)));
  }
  constexpr unsigned kWords = sizeof(values) / sizeof(std::uint32_t);
  static_assert(kWords <= simt::LaneWords::kMax);
  std::uint32_t own[kWords];
  std::memcpy(own, values, sizeof(values));
  return simt::exchange_words(own, kWords);
}

// d += a b, from what the lanes have exchanged.
template <typename Sum, typename Value, int kPerWord>
void multiply_lanes(Sum (&d)[4], const simt::LaneWords& lanes) {
  const unsigned lane = threadIdx.x & 31u;
  const auto value = [&lanes](unsigned of_lane, unsigned at) {
    Value result;
    std::memcpy(&result, reinterpret_cast<const char*>(lanes.words[of_lane]) + at * sizeof(Value),
                sizeof(Value));
    return static_cast<Sum>(result);
  };
  for (unsigned at = 0; at < 4; ++at) {
    Sum sum = d[at];
    for (unsigned half = 0; half < 2; ++half) {
      for (unsigned quad = 0; quad < 4; ++quad) {
        const unsigned a_lane = lane / 4 * 4 + quad, b_lane = (lane % 4 * 2 + at % 2) * 4 + quad;
        for (unsigned i = 0; i < kPerWord; ++i) {
          sum += value(a_lane, (half * 2 + at / 2) * kPerWord + i) *
                 value(b_lane, (4 + half) * kPerWord + i);
        }
      }
    }
    d[at] = sum;
  }
}

template <typename T>
void multiply_accumulate(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                         std::uint32_t b1) {
  multiply_lanes<float, float, 2>(
      d, exchange_operands<float, 2>({a[0], a[1], a[2], a[3], b0, b1}, [](std::uint32_t word) {
        return T::widen(static_cast<std::uint16_t>(word));
      }));
}

inline void multiply_accumulate_bytes(std::int32_t (&d)[4], const std::uint32_t (&a)[4],
                                      std::uint32_t b0, std::uint32_t b1) {
  multiply_lanes<std::int32_t, std::int8_t, 4>(
      d,
      exchange_operands<std::int8_t, 4>({a[0], a[1], a[2], a[3], b0, b1}, [](std::uint32_t word) {
        return static_cast<std::int8_t>(word);
      }));
}

// The rows that the lanes name, read when each lane arrives.
inline const simt::LaneWords& exchange_rows(const void* row) {
  std::uint32_t words[4];
  std::memcpy(words, row, sizeof(words));
  return simt::exchange_words(words, 4);
}

inline void load_matrices(std::uint32_t (&words)[4], const void* row) {
  const simt::LaneWords& rows = exchange_rows(row);
  const unsigned lane = threadIdx.x & 31u;
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    words[matrix] = rows.words[matrix * 8 + lane / 4][lane % 4];
  }
}

inline void load_matrices_transposed(std::uint32_t (&words)[4], const void* row) {
  const simt::LaneWords& rows = exchange_rows(row);
  const unsigned lane = threadIdx.x & 31u;
  const unsigned column = lane / 4, first = lane % 4 * 2;
  const auto at = [&](unsigned matrix_row) {
    return rows.words[matrix_row][column / 2] >> (16 * (column % 2)) & 0xffffu;
  };
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    words[matrix] = at(matrix * 8 + first) | at(matrix * 8 + first + 1) << 16;
  }
}

}  // namespace tandem::gpu_kernels
