// SPDX-License-Identifier: Apache-2.0
//
// One grid row per part; rows are as long as the longest part needs.
#include "sparse/encode_parts.h"

#include <algorithm>

#include "common/launch.cuh"
#include "sparse/value_access.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kItems = 8;                              // of coo32, per thread
constexpr std::uint32_t kCooTile = kThreads * kItems;  // entries
constexpr int kBitmapItems = 4;
constexpr std::uint32_t kBlockPositions = 65536;  // of bitmap, per block
constexpr std::uint32_t kBlockWords = kBlockPositions / 32;

std::uint64_t num_words64(std::uint64_t num_positions) { return (num_positions + 63) / 64; }

template <typename Wire>
__global__ __launch_bounds__(kThreads) void write_coo(const __grid_constant__ EncodeParts job) {
  let_next_start();
  wait_for_previous();
  using Sum = SumOf<Wire>;
  const unsigned part = blockIdx.y;
  const std::uint32_t part_begin = job.begins[part];
  const std::uint32_t num_entries = job.begins[part + 1] - part_begin;
  const std::uint32_t first = blockIdx.x * kCooTile + threadIdx.x;
  if (first >= num_entries) return;
  const std::uint32_t* locals = job.locals + part_begin;
  const Sum* values = static_cast<const Sum*>(job.values) + part_begin;
  auto* body = static_cast<unsigned char*>(job.bodies) + job.body_offsets[part];
  auto* indices_out = reinterpret_cast<std::uint32_t*>(body);
  unsigned char* values_out = body + std::size_t{4} * num_entries;
  std::uint32_t own_locals[kItems];
  Sum own_values[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const std::uint32_t at = first + item * kThreads;
    own_locals[item] = at < num_entries ? locals[at] : 0;
    own_values[item] = at < num_entries ? values[at] : Sum{};
  }
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const std::uint32_t at = first + item * kThreads;
    if (at >= num_entries) continue;
    indices_out[at] = own_locals[item];
    store_wire<Wire>(values_out, at, own_values[item]);
  }
}

// The first of `num_entries` ascending indices that is not below `bound`; all lanes of a warp call
// it and get the result.
__device__ std::uint32_t lower_bound_of_warp(const std::uint32_t* indices,
                                             std::uint32_t num_entries, std::uint64_t bound) {
  const unsigned lane = threadIdx.x & 31u;
  std::uint32_t begin = 0, end = num_entries;  // the answer is in [begin, end]
  while (begin < end) {
    const std::uint32_t step = (end - begin + 31) / 32;
    const std::uint64_t probe = begin + static_cast<std::uint64_t>(lane) * step;
    const bool below = probe < end && indices[probe] < bound;
    const unsigned num_below = __popc(__ballot_sync(0xffffffffu, below));
    if (num_below == 0) return begin;
    // The answer is after the last probe that is below, and not after the next probe.
    const std::uint64_t next = begin + static_cast<std::uint64_t>(num_below) * step;
    begin += (num_below - 1) * step + 1;
    end = next < end ? static_cast<std::uint32_t>(next) : end;
  }
  return begin;
}

template <typename Wire>
__global__ __launch_bounds__(kThreads) void write_bitmap(const __grid_constant__ EncodeParts job) {
  let_next_start();
  wait_for_previous();
  using Sum = SumOf<Wire>;
  __shared__ std::uint32_t words[kBlockWords];
  __shared__ std::uint32_t range[2];
  const unsigned part = blockIdx.y;
  const std::uint32_t part_begin = job.begins[part];
  const std::uint32_t num_entries = job.begins[part + 1] - part_begin;
  if (num_entries == 0) return;
  const std::uint64_t first_position = static_cast<std::uint64_t>(blockIdx.x) * kBlockPositions;
  const std::uint32_t* locals = job.locals + part_begin;
  for (std::uint32_t word = threadIdx.x; word < kBlockWords; word += kThreads) words[word] = 0;
  const unsigned warp = threadIdx.x / 32u;
  if (warp < 2) {
    const std::uint32_t found =
        lower_bound_of_warp(locals, num_entries, first_position + warp * kBlockPositions);
    if ((threadIdx.x & 31u) == 0) range[warp] = found;
  }
  __syncthreads();
  const Sum* values = static_cast<const Sum*>(job.values) + part_begin;
  auto* body = static_cast<unsigned char*>(job.bodies) + job.body_offsets[part];
  const std::uint64_t part_words = (job.num_positions + 63) / 64;
  unsigned char* values_out = body + part_words * 8;
  const std::uint32_t end = range[1];
  for (std::uint32_t base = range[0] + threadIdx.x; base < end; base += kThreads * kBitmapItems) {
    std::uint32_t positions[kBitmapItems];
    Sum own_values[kBitmapItems];
#pragma unroll
    for (int item = 0; item < kBitmapItems; ++item) {
      const std::uint32_t at = base + item * kThreads;
      positions[item] = at < end ? locals[at] - static_cast<std::uint32_t>(first_position) : 0;
      own_values[item] = at < end ? values[at] : Sum{};
    }
#pragma unroll
    for (int item = 0; item < kBitmapItems; ++item) {
      const std::uint32_t at = base + item * kThreads;
      if (at >= end) continue;
      atomicOr(&words[positions[item] / 32], 1u << (positions[item] & 31u));
      store_wire<Wire>(values_out, at, own_values[item]);
    }
  }
  __syncthreads();
  const std::uint64_t first_word = first_position / 64;
  const auto num_words = static_cast<std::uint32_t>(
      min(static_cast<std::uint64_t>(kBlockWords / 2), part_words - first_word));
  auto* to = reinterpret_cast<uint2*>(body) + first_word;
  for (std::uint32_t word = threadIdx.x; word < num_words; word += kThreads) {
    to[word] = make_uint2(words[2 * word], words[2 * word + 1]);
  }
}

bool is_valid(const EncodeParts& job) {
  return job.num_parts >= 1 && job.num_parts <= kMaxOwners &&
         job.num_positions <= (std::uint64_t{1} << 32);
}

std::uint32_t longest_part(const EncodeParts& job) {
  std::uint32_t longest = 0;
  for (int part = 0; part < job.num_parts; ++part) {
    longest = std::max(longest, job.begins[part + 1] - job.begins[part]);
  }
  return longest;
}

}  // namespace

std::size_t coo_body_bytes(std::uint64_t num_entries, ValueType wire) {
  return num_entries * (4 + wire_bytes(wire));
}

std::size_t bitmap_body_bytes(std::uint64_t num_entries, std::uint64_t num_positions,
                              ValueType wire) {
  return num_entries == 0 ? 0 : num_words64(num_positions) * 8 + num_entries * wire_bytes(wire);
}

cudaError_t encode_coo(const EncodeParts& job, cudaStream_t stream) {
  if (!is_valid(job)) return cudaErrorInvalidValue;
  const std::uint32_t longest = longest_part(job);
  if (longest == 0) return cudaSuccess;
  const dim3 grid((longest - 1) / kCooTile + 1, static_cast<unsigned>(job.num_parts));
  return with_wire(job.wire, [&](auto wire) {
    return launch(stream, grid, kThreads, write_coo<decltype(wire)>, job);
  });
}

cudaError_t encode_bitmap(const EncodeParts& job, cudaStream_t stream) {
  if (!is_valid(job)) return cudaErrorInvalidValue;
  if (longest_part(job) == 0) return cudaSuccess;
  const dim3 grid(static_cast<unsigned>((job.num_positions - 1) / kBlockPositions + 1),
                  static_cast<unsigned>(job.num_parts));
  return with_wire(job.wire, [&](auto wire) {
    return launch(stream, grid, kThreads, write_bitmap<decltype(wire)>, job);
  });
}

}  // namespace tandem::gpu_kernels
