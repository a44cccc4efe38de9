// SPDX-License-Identifier: Apache-2.0
//
// Tiles of 256 words: one warp counts a tile, one block writes it.
#include "sparse/bitmap_entries.h"

#include <type_traits>

#include "common/block_scan.cuh"
#include "common/launch.cuh"
#include "common/prefix_sums.cuh"
#include "sparse/value_access.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kThreads = 256;
constexpr std::uint32_t kTileWords = kThreads;
constexpr std::uint32_t kTilePositions = kTileWords * 32;
static_assert(kTilePositions == kBitmapTilePositions);
constexpr int kScanThreads = 1024;
constexpr int kWordsPerRound = 8;  // of mark_present: loads in flight per thread

std::uint32_t num_tiles_of(std::uint64_t num_positions) {
  return static_cast<std::uint32_t>((num_positions + kTilePositions - 1) / kTilePositions);
}

template <typename Sum>
__device__ Sum absent_value(bool least) {
  if constexpr (std::is_same_v<Sum, float>) return least ? float_of(0xff800000u) : 0.0f;
  if constexpr (std::is_same_v<Sum, double>) return least ? -1.0 / 0.0 : 0.0;
  return Sum{0};
}

// One warp makes 32 words: lane l reads position l of each, ballots make the words.
template <typename Wire>
__global__ __launch_bounds__(kThreads) void mark_words(MarkPresent job) {
  let_next_start();
  wait_for_previous();
  const unsigned lane = threadIdx.x & 31u;
  const std::uint64_t warp =
      static_cast<std::uint64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32u;
  const std::uint64_t first = warp * 1024;
  if (first >= job.num_positions) return;
  const auto* values = static_cast<const Wire*>(job.values);
  const auto absent = absent_value<SumOf<Wire>>(job.absent_is_least);
  std::uint32_t own_word = 0;
  for (unsigned round = 0; round < 32; round += kWordsPerRound) {
    bool present[kWordsPerRound];
#pragma unroll
    for (unsigned word = 0; word < kWordsPerRound; ++word) {
      const std::uint64_t position = first + (round + word) * 32 + lane;
      present[word] = position < job.num_positions && widen(values[position]) != absent;
    }
#pragma unroll
    for (unsigned word = 0; word < kWordsPerRound; ++word) {
      const std::uint32_t bits = __ballot_sync(0xffffffffu, present[word]);
      if (lane == round + word) own_word = bits;
    }
  }
  const std::uint64_t at = warp * 32 + lane;
  if (at < (job.num_positions + 31) / 32) job.bitmap[at] = own_word;
}

// Word `at` of the bitmap without bits outside the domain; 0 after its end.
__device__ std::uint32_t word_of(const TakeEntries& job, std::uint64_t at) {
  const std::uint64_t begin = at * 32;
  if (begin >= job.num_positions) return 0;
  const std::uint64_t left = job.num_positions - begin;
  const std::uint32_t word = job.bitmap[at];
  return left >= 32 ? word : word & ((1u << left) - 1u);
}

__global__ __launch_bounds__(kThreads) void count_bits(TakeEntries job, std::uint32_t num_tiles,
                                                       std::uint32_t* counts) {
  let_next_start();
  wait_for_previous();
  const std::uint32_t tile = blockIdx.x * (kThreads / 32) + threadIdx.x / 32u;
  if (tile >= num_tiles) return;
  const unsigned lane = threadIdx.x & 31u;
  std::uint32_t bits = 0;
#pragma unroll
  for (unsigned word = 0; word < kTileWords; word += 32) {
    bits += __popc(word_of(job, static_cast<std::uint64_t>(tile) * kTileWords + word + lane));
  }
  const std::uint32_t sum = warp_inclusive_scan(bits);
  if (lane == 31) counts[tile] = sum;
}

// One block: exclusive prefix sums in place.
__global__ __launch_bounds__(kScanThreads) void sum_tiles(std::uint32_t num_tiles,
                                                          std::uint32_t* counts,
                                                          std::uint32_t* total) {
  let_next_start();
  wait_for_previous();
  const std::uint32_t sum = sum_in_place<kScanThreads>(num_tiles, counts);
  if (threadIdx.x == 0) *total = sum;
}

template <typename Wire>
__global__ __launch_bounds__(kThreads) void write_entries(TakeEntries job,
                                                          const std::uint32_t* prefixes) {
  let_next_start();
  wait_for_previous();
  __shared__ std::uint16_t offsets[kTilePositions];  // of the tile's set bits
  __shared__ std::uint32_t scratch[kThreads / 32 + 1];
  const std::uint64_t first_word = static_cast<std::uint64_t>(blockIdx.x) * kTileWords;
  std::uint32_t bits = word_of(job, first_word + threadIdx.x);
  std::uint32_t num_bits;
  std::uint32_t at = block_exclusive_scan<kThreads>(__popc(bits), scratch, &num_bits);
  for (; bits != 0; bits &= bits - 1) {
    offsets[at++] = static_cast<std::uint16_t>(threadIdx.x * 32 + __ffs(bits) - 1);
  }
  __syncthreads();
  const auto first_position = static_cast<std::uint32_t>(first_word * 32);
  const std::uint32_t base = prefixes[blockIdx.x];
  const auto* values = static_cast<const unsigned char*>(job.values);
  auto* values_out = static_cast<SumOf<Wire>*>(job.values_out);
  for (std::uint32_t bit = threadIdx.x; bit < num_bits; bit += kThreads) {
    const std::uint32_t entry = base + bit;
    if (entry >= job.max_entries) break;
    const std::uint32_t position = first_position + offsets[bit];
    job.indices[entry] = job.first_index + position;
    values_out[entry] = load_wire<Wire>(values, job.packed ? entry : position);
  }
}

}  // namespace

std::size_t take_entries_workspace_bytes(std::uint64_t num_positions) {
  return (std::size_t{num_tiles_of(num_positions)} + 1) * sizeof(std::uint32_t);
}

cudaError_t mark_present(const MarkPresent& job, cudaStream_t stream) {
  if (job.num_positions > (std::uint64_t{1} << 32)) return cudaErrorInvalidValue;
  if (job.num_positions == 0) return cudaSuccess;
  constexpr std::uint64_t kBlockPositions = (kThreads / 32) * 1024;
  const auto blocks = static_cast<unsigned>((job.num_positions - 1) / kBlockPositions + 1);
  return with_wire(job.type, [&](auto wire) {
    return launch(stream, blocks, kThreads, mark_words<decltype(wire)>, job);
  });
}

cudaError_t take_entries(const TakeEntries& job, cudaStream_t stream) {
  if (job.num_positions > (std::uint64_t{1} << 32)) return cudaErrorInvalidValue;
  const std::uint32_t num_tiles = num_tiles_of(job.num_positions);
  if (num_tiles == 0) return cudaMemsetAsync(job.num_entries, 0, sizeof(std::uint32_t), stream);
  auto* counts = static_cast<std::uint32_t*>(job.workspace);
  cudaError_t error = cudaSuccess;
  if (!job.counted) {
    error = launch(stream, (num_tiles + kThreads / 32 - 1) / (kThreads / 32), kThreads, count_bits,
                   job, num_tiles, counts);
  }
  if (error != cudaSuccess) return error;
  error = launch(stream, 1, kScanThreads, sum_tiles, num_tiles, counts, job.num_entries);
  if (error != cudaSuccess) return error;
  return with_wire(job.type, [&](auto wire) {
    return launch(stream, num_tiles, kThreads, write_entries<decltype(wire)>, job, counts);
  });
}

}  // namespace tandem::gpu_kernels
