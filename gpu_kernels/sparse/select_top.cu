// SPDX-License-Identifier: Apache-2.0
//
// Histograms skip digit 0, whose count is the rest that the other counts do not reach. A gradient
// of zeros therefore needs no atomic operations.
#include "sparse/select_top.h"

#include "common/block_scan.cuh"
#include "common/launch.cuh"
#include "common/prefix_sums.cuh"
#include "sparse/magnitude_bits.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kBins = 2048;             // of the widest digit
constexpr unsigned kMostBlocks = 1024;  // of a histogram: each has its bins to add up
constexpr int kScanThreads = 1024;
constexpr int kLoads = 8;  // in flight per thread

struct Digit {
  int shift, bits;
};
constexpr Digit kDigits[] = {{20, 11}, {10, 10}, {0, 10}};
static_assert(kBins == 1 << 11 && kBins == 2 * kScanThreads);

// What is known of the k-th largest magnitude.
struct TopState {
  std::uint32_t bits;  // the digits chosen so far; 0 below
  std::uint32_t left;  // how many to take among the magnitudes with these digits
};

// The workspace.
struct TopLayout {
  TopLayout(void* workspace, std::uint64_t num_values)
      : num_tiles(static_cast<std::uint32_t>((num_values + kBitmapTilePositions - 1) /
                                             kBitmapTilePositions)),
        num_words((num_values + 31) / 32) {
    auto* words = static_cast<std::uint32_t*>(workspace);
    histograms = words;
    state = reinterpret_cast<TopState*>(words + 3 * kBins);
    ties = words + 3 * kBins + sizeof(TopState) / sizeof(std::uint32_t);
    bitmap = ties + num_tiles;
    take = bitmap + num_words;
  }
  std::uint32_t num_tiles;
  std::uint64_t num_words;
  std::uint32_t* histograms;  // [3][kBins]
  TopState* state;
  std::uint32_t* ties;  // [num_tiles]
  std::uint32_t* bitmap;
  std::uint32_t* take;  // of take_entries()
};

__device__ void clear_bins(std::uint32_t* bins) {
  for (int bin = static_cast<int>(threadIdx.x); bin < kBins; bin += kTileThreads) bins[bin] = 0;
  __syncthreads();
}

__device__ void add_bins(const std::uint32_t* bins, std::uint32_t* to) {
  __syncthreads();
  for (int bin = static_cast<int>(threadIdx.x); bin < kBins; bin += kTileThreads) {
    if (bins[bin] != 0) atomicAdd(&to[bin], bins[bin]);
  }
}

// Digit 0 of all values. A block takes every gridDim.x-th run of 2,048.
__global__ __launch_bounds__(kTileThreads) void count_first_digit(const float* values,
                                                                  std::uint64_t num_values,
                                                                  std::uint32_t* histogram) {
  let_next_start();
  wait_for_previous();
  __shared__ std::uint32_t bins[kBins];
  clear_bins(bins);
  constexpr std::uint64_t kRun = kTileThreads * kLoads;
  for (std::uint64_t first = blockIdx.x * kRun; first < num_values; first += gridDim.x * kRun) {
    std::uint32_t bits[kLoads];
#pragma unroll
    for (int item = 0; item < kLoads; ++item) {
      const std::uint64_t at = first + static_cast<unsigned>(item) * kTileThreads + threadIdx.x;
      bits[item] = at < num_values ? magnitude_bits(values[at]) : 0u;
    }
#pragma unroll
    for (int item = 0; item < kLoads; ++item) {
      const std::uint32_t bin = bits[item] >> kDigits[0].shift;
      if (bin != 0 && bits[item] <= kInfinityBits) atomicAdd(&bins[bin], 1u);
    }
  }
  add_bins(bins, histogram);
}

// A later digit, of the candidates that agree in the digits before. A thread has a word at a time.
__global__ __launch_bounds__(kTileThreads) void count_digit(const float* values,
                                                            const std::uint32_t* bitmap,
                                                            std::uint64_t num_words, Digit digit,
                                                            const TopState* state,
                                                            std::uint32_t* histogram) {
  let_next_start();
  wait_for_previous();
  __shared__ std::uint32_t bins[kBins];
  clear_bins(bins);
  const std::uint32_t known = state->bits;
  const std::uint32_t mask = (1u << digit.bits) - 1u;
  for (std::uint64_t first = static_cast<std::uint64_t>(blockIdx.x) * kTileThreads;
       first < num_words; first += static_cast<std::uint64_t>(gridDim.x) * kTileThreads) {
    const std::uint64_t word = first + threadIdx.x;
    for (std::uint32_t set = word < num_words ? bitmap[word] : 0u; set != 0; set &= set - 1) {
      const std::uint32_t bits =
          magnitude_bits(values[word * 32 + static_cast<unsigned>(__ffs(set)) - 1]);
      const std::uint32_t bin = (bits >> digit.shift) & mask;
      const bool agrees = (bits ^ known) >> (digit.shift + digit.bits) == 0;
      if (agrees && bin != 0) atomicAdd(&bins[bin], 1u);
    }
  }
  add_bins(bins, histogram);
}

// One block: the digit of the k-th largest. A thread has two bins, the first thread the largest.
__global__ __launch_bounds__(kScanThreads) void choose_digit(const std::uint32_t* histogram,
                                                             Digit digit, std::uint32_t count,
                                                             TopState* state) {
  let_next_start();
  wait_for_previous();
  __shared__ std::uint32_t scratch[kScanThreads / 32 + 1];
  const bool is_first = digit.shift == kDigits[0].shift;
  const std::uint32_t known = is_first ? 0u : state->bits;
  const std::uint32_t left = is_first ? count : state->left;
  __syncthreads();
  const int upper_bin = kBins - 1 - 2 * static_cast<int>(threadIdx.x);
  const std::uint32_t upper = histogram[upper_bin], lower = histogram[upper_bin - 1];
  std::uint32_t total;
  const std::uint32_t before = block_exclusive_scan<kScanThreads>(upper + lower, scratch, &total);
  const auto choose = [&](int bin, std::uint32_t above) {
    *state = {known | static_cast<std::uint32_t>(bin) << digit.shift, left - above};
  };
  if (before < left && left <= before + upper) {
    choose(upper_bin, before);
  } else if (before + upper < left && left <= before + upper + lower) {
    choose(upper_bin - 1, before + upper);
  }
  if (threadIdx.x == 0 && total < left) choose(0, total);
}

__global__ __launch_bounds__(kTileThreads) void mark_candidates(const float* values,
                                                                std::uint64_t num_values,
                                                                const TopState* state,
                                                                std::uint32_t* bitmap,
                                                                std::uint32_t* counts) {
  let_next_start();
  wait_for_previous();
  mark_tile(values, num_values, state->bits, bitmap, counts);
}

// The candidates of the thread's word of the tile: those above the k-th largest and those equal.
struct WordSplit {
  std::uint32_t above = 0, equal = 0;

  __device__ WordSplit(const float* values, const std::uint32_t* bitmap, std::uint64_t num_words,
                       std::uint32_t least) {
    const std::uint64_t word = static_cast<std::uint64_t>(blockIdx.x) * kTileThreads + threadIdx.x;
    for (std::uint32_t set = word < num_words ? bitmap[word] : 0u; set != 0; set &= set - 1) {
      const std::uint32_t bits =
          magnitude_bits(values[word * 32 + static_cast<unsigned>(__ffs(set)) - 1]);
      const std::uint32_t bit = set & (0u - set);
      if (bits > least) above |= bit;
      if (bits == least) equal |= bit;
    }
  }
};

__global__ __launch_bounds__(kTileThreads) void count_ties(const float* values,
                                                           const std::uint32_t* bitmap,
                                                           std::uint64_t num_words,
                                                           const TopState* state,
                                                           std::uint32_t* ties) {
  let_next_start();
  wait_for_previous();
  __shared__ std::uint32_t scratch[32];
  const WordSplit split(values, bitmap, num_words, state->bits);
  const std::uint32_t count =
      reduce_block(static_cast<std::uint32_t>(__popc(split.equal)), 0u, scratch, Sum{});
  if (threadIdx.x == 0) ties[blockIdx.x] = count;
}

// One block: exclusive prefix sums in place; and the result's k-th largest.
__global__ __launch_bounds__(kScanThreads) void sum_ties(std::uint32_t num_tiles,
                                                         std::uint32_t* ties, const TopState* state,
                                                         std::uint32_t* smallest_bits) {
  let_next_start();
  wait_for_previous();
  const std::uint32_t sum = sum_in_place<kScanThreads>(num_tiles, ties);
  if (threadIdx.x == 0 && smallest_bits != nullptr) {
    *smallest_bits = sum < state->left ? 0u : state->bits;
  }
}

// Leaves in the bitmap what is taken, and counts it per tile.
__global__ __launch_bounds__(kTileThreads) void keep_top(const float* values, std::uint32_t* bitmap,
                                                         std::uint64_t num_words,
                                                         const TopState* state,
                                                         const std::uint32_t* ties,
                                                         std::uint32_t* counts) {
  let_next_start();
  wait_for_previous();
  __shared__ std::uint32_t scratch[kTileThreads / 32 + 1];
  const WordSplit split(values, bitmap, num_words, state->bits);
  std::uint32_t ties_of_tile;
  const std::uint32_t before =
      ties[blockIdx.x] +
      block_exclusive_scan<kTileThreads>(static_cast<std::uint32_t>(__popc(split.equal)), scratch,
                                         &ties_of_tile);
  std::uint32_t kept = split.above;
  std::uint32_t rank = before;
  for (std::uint32_t equal = split.equal; equal != 0 && rank < state->left; ++rank) {
    kept |= equal & (0u - equal);
    equal &= equal - 1;
  }
  const std::uint64_t word = static_cast<std::uint64_t>(blockIdx.x) * kTileThreads + threadIdx.x;
  if (word < num_words) bitmap[word] = kept;
  std::uint32_t total;
  block_exclusive_scan<kTileThreads>(static_cast<std::uint32_t>(__popc(kept)), scratch, &total);
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

unsigned blocks_for(std::uint64_t items, std::uint64_t per_block) {
  const std::uint64_t blocks = (items - 1) / per_block + 1;
  return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

// Finds the k-th largest magnitude, digit by digit, and leaves the candidates in the bitmap.
cudaError_t find_smallest(const TopLayout& layout, const float* values, std::uint64_t num_values,
                          std::uint32_t count, cudaStream_t stream) {
  cudaError_t error =
      cudaMemsetAsync(layout.histograms, 0, 3 * kBins * sizeof(std::uint32_t), stream);
  if (error != cudaSuccess) return error;
  error = launch(stream, blocks_for(num_values, kTileThreads * kLoads), kTileThreads,
                 count_first_digit, values, num_values, layout.histograms);
  for (int digit = 0; digit < 3 && error == cudaSuccess; ++digit) {
    std::uint32_t* histogram = layout.histograms + digit * kBins;
    if (digit > 0) {
      error =
          launch(stream, blocks_for(layout.num_words, kTileThreads), kTileThreads, count_digit,
                 values, layout.bitmap, layout.num_words, kDigits[digit], layout.state, histogram);
      if (error != cudaSuccess) return error;
    }
    error = launch(stream, 1, kScanThreads, choose_digit, histogram, kDigits[digit], count,
                   layout.state);
    if (digit > 0 || error != cudaSuccess) continue;
    error = launch(stream, layout.num_tiles, kTileThreads, mark_candidates, values, num_values,
                   layout.state, layout.bitmap, layout.take);
  }
  return error;
}

}  // namespace

std::size_t select_top_workspace_bytes(std::uint64_t begin, std::uint64_t end) {
  const TopLayout layout(nullptr, end - begin);
  const std::size_t words = 3 * kBins + sizeof(TopState) / sizeof(std::uint32_t) +
                            std::size_t{layout.num_tiles} +
                            static_cast<std::size_t>(layout.num_words);
  return words * sizeof(std::uint32_t) + take_entries_workspace_bytes(end - begin);
}

cudaError_t select_top(const SelectTop& job, cudaStream_t stream) {
  if (job.begin > job.end || job.end > 0xffffffffu) return cudaErrorInvalidValue;
  const std::uint64_t num_values = job.end - job.begin;
  if (num_values == 0 || job.count == 0) {
    return cudaMemsetAsync(job.num_entries, 0, sizeof(std::uint32_t), stream);
  }
  const TopLayout layout(job.workspace, num_values);
  const float* values = job.values + job.begin;
  cudaError_t error = find_smallest(layout, values, num_values, job.count, stream);
  if (error != cudaSuccess) return error;
  error = launch(stream, layout.num_tiles, kTileThreads, count_ties, values, layout.bitmap,
                 layout.num_words, layout.state, layout.ties);
  if (error != cudaSuccess) return error;
  error = launch(stream, 1, kScanThreads, sum_ties, layout.num_tiles, layout.ties, layout.state,
                 job.smallest_bits);
  if (error != cudaSuccess) return error;
  error = launch(stream, layout.num_tiles, kTileThreads, keep_top, values, layout.bitmap,
                 layout.num_words, layout.state, layout.ties, layout.take);
  if (error != cudaSuccess) return error;
  TakeEntries take;
  take.bitmap = layout.bitmap;
  take.num_positions = num_values;
  take.values = values;
  take.max_entries = num_values < job.count ? static_cast<std::uint32_t>(num_values) : job.count;
  take.indices = job.indices;
  take.values_out = job.values_out;
  take.num_entries = job.num_entries;
  take.workspace = layout.take;
  take.first_index = static_cast<std::uint32_t>(job.begin);
  take.counted = true;
  return take_entries(take, stream);
}

}  // namespace tandem::gpu_kernels
