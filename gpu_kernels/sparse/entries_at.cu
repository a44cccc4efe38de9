// SPDX-License-Identifier: Apache-2.0
//
// A thread takes 8 entries and issues all loads before the first use.
#include "sparse/entries_at.h"

#include "common/launch.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kItems = 8;
constexpr std::uint32_t kTile = kThreads * kItems;

// The places of a thread's entries.
struct Places {
  std::uint32_t entry[kItems], index[kItems];
  bool is_place[kItems];

  __device__ Places(const std::uint32_t* indices, std::uint32_t num_entries,
                    std::uint64_t num_values, std::uint32_t* faults) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      entry[item] = blockIdx.x * kTile + static_cast<unsigned>(item) * kThreads + threadIdx.x;
      is_place[item] = entry[item] < num_entries;
      index[item] = is_place[item] ? indices[entry[item]] : 0u;
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (!is_place[item] || index[item] < num_values) continue;
      atomicOr(faults, 1u);
      is_place[item] = false;
    }
  }
};

__global__ __launch_bounds__(kThreads) void gather_values(GatherAt job) {
  let_next_start();
  wait_for_previous();
  const Places places(job.indices, job.num_entries, job.num_values, job.faults);
  float values[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    values[item] = places.is_place[item] ? job.values[places.index[item]] : 0.0f;
  }
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (places.entry[item] < job.num_entries) job.values_out[places.entry[item]] = values[item];
  }
}

__global__ __launch_bounds__(kThreads) void clear_values(ClearAt job) {
  let_next_start();
  wait_for_previous();
  const Places places(job.indices, job.num_entries, job.num_values, job.faults);
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (!places.is_place[item]) continue;
    job.first[places.index[item]] = 0.0f;
    if (job.second != nullptr) job.second[places.index[item]] = 0.0f;
  }
}

template <typename Wire>
__global__ __launch_bounds__(kThreads) void add_values(AddAt job) {
  let_next_start();
  wait_for_previous();
  const Places places(job.indices, job.num_entries, job.num_values, job.faults);
  auto* to = static_cast<Wire*>(job.to);
  float values[kItems], sums[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const bool is_place = places.is_place[item];
    values[item] = is_place ? job.values[places.entry[item]] : 0.0f;
    sums[item] = is_place && !job.replaces ? widen(to[places.index[item]]) : 0.0f;
  }
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (!places.is_place[item]) continue;
    const float value = __fdiv_rn(values[item], job.divisor);
    narrow(job.replaces ? value : __fadd_rn(sums[item], value), to[places.index[item]]);
  }
}

template <typename Job>
cudaError_t launch_at(cudaStream_t stream, void (*kernel)(Job), const Job& job) {
  if (job.num_entries > 0xffffffffu - kTile) return cudaErrorInvalidValue;
  if (job.num_entries == 0) return cudaSuccess;
  return launch(stream, (job.num_entries - 1) / kTile + 1, kThreads, kernel, job);
}

}  // namespace

cudaError_t gather_at(const GatherAt& job, cudaStream_t stream) {
  return launch_at(stream, gather_values, job);
}

cudaError_t clear_at(const ClearAt& job, cudaStream_t stream) {
  return launch_at(stream, clear_values, job);
}

cudaError_t add_at(const AddAt& job, cudaStream_t stream) {
  switch (job.type) {
    case ValueType::kF32:
      return launch_at(stream, add_values<float>, job);
    case ValueType::kF16:
      return launch_at(stream, add_values<F16>, job);
    case ValueType::kBF16:
      return launch_at(stream, add_values<BF16>, job);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace tandem::gpu_kernels
