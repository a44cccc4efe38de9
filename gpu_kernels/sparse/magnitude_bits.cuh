// SPDX-License-Identifier: Apache-2.0
//
// Magnitudes as integers of the same order: the bits of |x|. NaN is above infinity.
//
// A bitmap of a tile is made by one block: 256 words, a thread per word. Threads: pure functions,
// except for mark_tile(), which all threads of a block call.
#pragma once

#include <cstdint>

#include "common/block_reduce.cuh"
#include "common/floats.h"
#include "sparse/bitmap_entries.h"

namespace tandem::gpu_kernels {

inline constexpr int kTileThreads = 256;
inline constexpr std::uint32_t kInfinityBits = 0x7f800000u;
static_assert(kTileThreads * 32 == kBitmapTilePositions);

__host__ __device__ inline std::uint32_t magnitude_bits(float value) {
  return bits_of(value) & 0x7fffffffu;
}

// The bits of the smallest magnitude that reaches the threshold; for a NaN, larger than any
// magnitude's.
__host__ __device__ inline std::uint32_t threshold_bits(float threshold) {
  if (threshold != threshold) return 0xffffffffu;
  return threshold > 0 ? bits_of(threshold) : 0u;
}

__device__ inline bool reaches(std::uint32_t bits, std::uint32_t threshold) {
  return bits >= threshold && bits <= kInfinityBits;
}

// Sets bit i of a bitmap where values[i] reaches the threshold, for tile `blockIdx.x`, and writes
// the number of its set bits. values: [num_values]; bitmap: [ceil(num_values / 32)].
__device__ inline void mark_tile(const float* values, std::uint64_t num_values,
                                 std::uint32_t threshold, std::uint32_t* bitmap,
                                 std::uint32_t* counts) {
  constexpr unsigned kWordsPerRound = 8;  // loads in flight per thread
  __shared__ std::uint32_t scratch[32];
  const unsigned lane = threadIdx.x & 31u;
  const std::uint64_t first =
      static_cast<std::uint64_t>(blockIdx.x) * kBitmapTilePositions + (threadIdx.x / 32u) * 1024u;
  std::uint32_t own_word = 0;
  for (unsigned round = 0; round < 32; round += kWordsPerRound) {
    std::uint32_t bits[kWordsPerRound];
#pragma unroll
    for (unsigned word = 0; word < kWordsPerRound; ++word) {
      const std::uint64_t position = first + (round + word) * 32 + lane;
      bits[word] = position < num_values ? magnitude_bits(values[position]) : 0xffffffffu;
    }
#pragma unroll
    for (unsigned word = 0; word < kWordsPerRound; ++word) {
      const std::uint32_t set = __ballot_sync(0xffffffffu, reaches(bits[word], threshold));
      if (lane == round + word) own_word = set;
    }
  }
  const std::uint64_t at = first / 32 + lane;
  if (at < (num_values + 31) / 32) bitmap[at] = own_word;
  const std::uint32_t count =
      reduce_block(static_cast<std::uint32_t>(__popc(own_word)), 0u, scratch, Sum{});
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

}  // namespace tandem::gpu_kernels
