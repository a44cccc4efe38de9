// SPDX-License-Identifier: Apache-2.0
//
// A thread takes 8 entries and issues all loads before the first use.
#include "sparse/scatter_add.h"

#include "common/launch.cuh"
#include "sparse/value_access.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kItems = 8;
constexpr std::uint32_t kTile = kThreads * kItems;

template <typename Sum>
__device__ Sum combine(Sum sum, Sum value, bool maximum) {
  if (!maximum) return sum + value;
  return value > sum || value != value ? value : sum;
}

template <typename Wire>
__global__ __launch_bounds__(kThreads) void add_entries(ScatterAdd job) {
  let_next_start();
  wait_for_previous();
  using Sum = SumOf<Wire>;
  const std::uint32_t first = blockIdx.x * kTile + threadIdx.x;
  auto* dense = static_cast<Sum*>(job.dense);
  std::uint32_t positions[kItems];
  Sum values[kItems], sums[kItems];
  bool is_entry[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const std::uint32_t at = first + item * kThreads;
    is_entry[item] = at < job.num_entries;
    positions[item] = is_entry[item] ? job.positions[at] : 0;
    values[item] = is_entry[item] ? widen(static_cast<const Wire*>(job.values)[at]) : Sum{};
    if (is_entry[item] && positions[item] >= job.num_positions) {
      atomicOr(job.faults, 1u);
      is_entry[item] = false;
    }
  }
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    sums[item] = is_entry[item] ? dense[positions[item]] : Sum{};  // undefined where not present
  }
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (!is_entry[item]) continue;
    const std::uint32_t bit = 1u << (positions[item] & 31u);
    const std::uint32_t before = atomicOr(&job.present[positions[item] / 32], bit);
    dense[positions[item]] =
        (before & bit) != 0 ? combine(sums[item], values[item], job.maximum) : values[item];
  }
}

template <typename Wire>
__global__ __launch_bounds__(kThreads) void read_coo(DecodeCoo job) {
  let_next_start();
  wait_for_previous();
  const std::uint32_t first = blockIdx.x * kTile + threadIdx.x;
  const auto* indices = static_cast<const std::uint32_t*>(job.body);
  const auto* values = reinterpret_cast<const unsigned char*>(indices + job.num_entries);
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const std::uint32_t at = first + item * kThreads;
    if (at >= job.num_entries) return;
    const std::uint32_t index = indices[at];
    const bool ascends = at == 0 || indices[at - 1] < index;
    if (!ascends || index >= job.num_positions) atomicOr(job.faults, 1u);
    job.indices[at] = index;
    static_cast<SumOf<Wire>*>(job.values_out)[at] = load_wire<Wire>(values, at);
  }
}

bool is_valid(std::uint32_t num_entries, std::uint64_t num_positions) {
  return num_entries <= 0xffffffffu - kTile && num_positions <= (std::uint64_t{1} << 32);
}

}  // namespace

cudaError_t scatter_add(const ScatterAdd& job, cudaStream_t stream) {
  if (!is_valid(job.num_entries, job.num_positions)) return cudaErrorInvalidValue;
  if (job.num_entries == 0) return cudaSuccess;
  return with_wire(job.type, [&](auto wire) {
    return launch(stream, (job.num_entries - 1) / kTile + 1, kThreads, add_entries<decltype(wire)>,
                  job);
  });
}

cudaError_t decode_coo(const DecodeCoo& job, cudaStream_t stream) {
  if (!is_valid(job.num_entries, job.num_positions)) return cudaErrorInvalidValue;
  if (job.num_entries == 0) return cudaSuccess;
  return with_wire(job.type, [&](auto wire) {
    return launch(stream, (job.num_entries - 1) / kTile + 1, kThreads, read_coo<decltype(wire)>,
                  job);
  });
}

}  // namespace tandem::gpu_kernels
