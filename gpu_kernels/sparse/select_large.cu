// SPDX-License-Identifier: Apache-2.0
//
// The workspace begins with the bitmap; the workspace of take_entries() follows.
#include "sparse/select_large.h"

#include "common/launch.cuh"
#include "sparse/magnitude_bits.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr unsigned kMostBlocks = 2048;  // of count_values: each has counts to add up
constexpr int kCountItems = 8;          // loads in flight per thread

struct Thresholds {
  std::uint32_t bits[kMostThresholds];
};

__global__ __launch_bounds__(kTileThreads) void mark_values(const float* values,
                                                            std::uint64_t num_values,
                                                            std::uint32_t threshold,
                                                            std::uint32_t* bitmap,
                                                            std::uint32_t* counts) {
  let_next_start();
  wait_for_previous();
  mark_tile(values, num_values, threshold, bitmap, counts);
}

// A block takes every gridDim.x-th run of 2,048 values. Unused thresholds are reached by none.
__global__ __launch_bounds__(kTileThreads) void count_values(const float* values,
                                                             std::uint64_t num_values,
                                                             Thresholds thresholds,
                                                             int num_thresholds,
                                                             std::uint32_t* counts) {
  let_next_start();
  wait_for_previous();
  __shared__ std::uint32_t scratch[32];
  constexpr std::uint64_t kRun = kTileThreads * kCountItems;
  std::uint32_t own[kMostThresholds] = {};
  for (std::uint64_t first = blockIdx.x * kRun; first < num_values; first += gridDim.x * kRun) {
    std::uint32_t bits[kCountItems];
#pragma unroll
    for (int item = 0; item < kCountItems; ++item) {
      const std::uint64_t at = first + static_cast<unsigned>(item) * kTileThreads + threadIdx.x;
      bits[item] = at < num_values ? magnitude_bits(values[at]) : 0xffffffffu;
    }
#pragma unroll
    for (int item = 0; item < kCountItems; ++item) {
#pragma unroll
      for (int i = 0; i < kMostThresholds; ++i) {
        own[i] += reaches(bits[item], thresholds.bits[i]) ? 1u : 0u;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kMostThresholds; ++i) {
    if (i >= num_thresholds) break;
    const std::uint32_t sum = reduce_block(own[i], 0u, scratch, Sum{});
    if (threadIdx.x == 0) atomicAdd(&counts[i], sum);
  }
}

bool is_range(std::uint64_t begin, std::uint64_t end) { return begin <= end && end <= 0xffffffffu; }

std::size_t num_words_of(std::uint64_t num_values) {
  return static_cast<std::size_t>((num_values + 31) / 32);
}

TakeEntries entries_of(const SelectLarge& job) {
  const std::uint64_t num_values = job.end - job.begin;
  auto* words = static_cast<std::uint32_t*>(job.workspace);
  TakeEntries take;
  take.bitmap = words;
  take.num_positions = num_values;
  take.values = job.values + job.begin;
  take.max_entries = job.max_entries;
  take.indices = job.indices;
  take.values_out = job.values_out;
  take.num_entries = job.num_entries;
  take.workspace = words + num_words_of(num_values);
  take.first_index = static_cast<std::uint32_t>(job.begin);
  return take;
}

}  // namespace

std::size_t select_large_workspace_bytes(std::uint64_t begin, std::uint64_t end) {
  return num_words_of(end - begin) * sizeof(std::uint32_t) +
         take_entries_workspace_bytes(end - begin);
}

cudaError_t select_large(const SelectLarge& job, cudaStream_t stream) {
  if (!is_range(job.begin, job.end)) return cudaErrorInvalidValue;
  TakeEntries take = entries_of(job);
  if (take.num_positions > 0) {
    const auto tiles = static_cast<unsigned>((take.num_positions - 1) / kBitmapTilePositions + 1);
    const cudaError_t error =
        launch(stream, tiles, kTileThreads, mark_values, job.values + job.begin, take.num_positions,
               threshold_bits(job.threshold), static_cast<std::uint32_t*>(job.workspace),
               static_cast<std::uint32_t*>(take.workspace));
    if (error != cudaSuccess) return error;
  }
  take.counted = true;
  return take_entries(take, stream);
}

cudaError_t write_selected(const SelectLarge& job, cudaStream_t stream) {
  if (!is_range(job.begin, job.end)) return cudaErrorInvalidValue;
  return take_entries(entries_of(job), stream);
}

cudaError_t count_large(const CountLarge& job, cudaStream_t stream) {
  if (!is_range(job.begin, job.end) || job.num_thresholds < 0 ||
      job.num_thresholds > kMostThresholds) {
    return cudaErrorInvalidValue;
  }
  if (job.num_thresholds == 0) return cudaSuccess;
  const auto bytes = static_cast<std::size_t>(job.num_thresholds) * sizeof(std::uint32_t);
  const cudaError_t error = cudaMemsetAsync(job.counts, 0, bytes, stream);
  if (error != cudaSuccess || job.begin == job.end) return error;
  Thresholds thresholds;
  for (int i = 0; i < kMostThresholds; ++i) {
    thresholds.bits[i] = i < job.num_thresholds ? threshold_bits(job.thresholds[i]) : 0xffffffffu;
  }
  constexpr std::uint64_t kRun = kTileThreads * kCountItems;
  const std::uint64_t runs = (job.end - job.begin - 1) / kRun + 1;
  const auto blocks = static_cast<unsigned>(runs < kMostBlocks ? runs : kMostBlocks);
  return launch(stream, blocks, kTileThreads, count_values, job.values + job.begin,
                job.end - job.begin, thresholds, job.num_thresholds, job.counts);
}

}  // namespace tandem::gpu_kernels
