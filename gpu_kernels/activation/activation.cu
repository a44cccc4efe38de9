// SPDX-License-Identifier: Apache-2.0
//
// A thread takes kBatch quads, a block's width apart, and issues all their loads before the first
// use.
#include "activation/activation.h"

#include <cmath>

#include "activation/gates.cuh"
#include "common/launch.cuh"
#include "common/quads.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kBatch = 4;
constexpr std::int64_t kBlockValues = std::int64_t{kThreads} * kBatch * 4;

// Calls load(at, batch index) for the thread's quads, then use(the same). `count`: values.
template <typename Load, typename Use>
__device__ void for_quads(std::int64_t count, const Load& load, const Use& use) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kBlockValues + threadIdx.x * 4;
#pragma unroll
  for (int item = 0; item < kBatch; ++item) {
    const std::int64_t at = first + item * (kThreads * 4);
    if (at < count) load(at, item);
  }
#pragma unroll
  for (int item = 0; item < kBatch; ++item) {
    const std::int64_t at = first + item * (kThreads * 4);
    if (at < count) use(at, item);
  }
}

// The values of the quad at `at` that exist.
__device__ int values_left(std::int64_t count, std::int64_t at) {
  return static_cast<int>(count - at < 4 ? count - at : 4);
}

template <bool kAligned, GateFunction kFunction>
__global__ __launch_bounds__(kThreads) void gate_values(GatedActivation job) {
  let_next_start();
  wait_for_previous();
  Quad gates[kBatch], ups[kBatch];
  for_quads(
      job.count,
      [&](std::int64_t at, int item) {
        const int left = values_left(job.count, at);
        gates[item] = load_quad<kAligned>(job.gate + at, 0, left);
        ups[item] = load_quad<kAligned>(job.up + at, 0, left);
      },
      [&](std::int64_t at, int item) {
        Quad result;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float gate = gates[item].v[i];
          result.v[i] =
              (kFunction == GateFunction::kSilu ? silu(gate) : gelu_tanh(gate)) * ups[item].v[i];
        }
        store_quad<kAligned>(job.out + at, 0, values_left(job.count, at), result);
      });
}

template <bool kAligned>
__global__ __launch_bounds__(kThreads) void cap_values(Softcap job) {
  let_next_start();
  wait_for_previous();
  Quad values[kBatch];
  for_quads(
      job.count,
      [&](std::int64_t at, int item) {
        values[item] = load_quad<kAligned>(job.x + at, 0, values_left(job.count, at));
      },
      [&](std::int64_t at, int item) {
#pragma unroll
        for (int i = 0; i < 4; ++i) values[item].v[i] = cap_softly(values[item].v[i], job.cap);
        store_quad<kAligned>(job.x + at, 0, values_left(job.count, at), values[item]);
      });
}

// grid: [rows, parts of a row]
template <bool kAligned>
__global__ __launch_bounds__(kThreads) void add_gated(GatedAdd job) {
  let_next_start();
  wait_for_previous();
  const std::int64_t row = blockIdx.x;
  const float share = 1.0f / (1.0f + expf(-job.gate[row]));
  const float* x = job.x + row * job.width;
  float* out = job.out + row * job.width;
  const int step = static_cast<int>(gridDim.y * kThreads * 4);
  for (int at = static_cast<int>((blockIdx.y * kThreads + threadIdx.x) * 4); at < job.width;
       at += step) {
    const Quad values = load_quad<kAligned>(x, at, job.width);
    Quad sums = load_quad<kAligned>(out, at, job.width);
#pragma unroll
    for (int i = 0; i < 4; ++i) sums.v[i] += values.v[i] * share;
    store_quad<kAligned>(out, at, job.width, sums);
  }
}

unsigned blocks_of(std::int64_t count) {
  return static_cast<unsigned>((count + kBlockValues - 1) / kBlockValues);
}

bool is_count(std::int64_t count) { return count >= 0 && count <= 0x7fffffff * kBlockValues; }

}  // namespace

cudaError_t gated_activation(const GatedActivation& job, cudaStream_t stream) {
  if (!is_count(job.count)) return cudaErrorInvalidValue;
  if (job.count == 0) return cudaSuccess;
  const bool aligned =
      job.count % 4 == 0 && is_aligned(job.gate) && is_aligned(job.up) && is_aligned(job.out);
  const auto with = [&](auto kernel) {
    return launch(stream, blocks_of(job.count), kThreads, kernel, job);
  };
  if (job.function == GateFunction::kSilu) {
    return aligned ? with(gate_values<true, GateFunction::kSilu>)
                   : with(gate_values<false, GateFunction::kSilu>);
  }
  return aligned ? with(gate_values<true, GateFunction::kGeluTanh>)
                 : with(gate_values<false, GateFunction::kGeluTanh>);
}

cudaError_t softcap(const Softcap& job, cudaStream_t stream) {
  if (!is_count(job.count) || !(job.cap > 0.0f) || !std::isfinite(job.cap)) {
    return cudaErrorInvalidValue;
  }
  if (job.count == 0) return cudaSuccess;
  const bool aligned = job.count % 4 == 0 && is_aligned(job.x);
  return launch(stream, blocks_of(job.count), kThreads,
                aligned ? cap_values<true> : cap_values<false>, job);
}

cudaError_t gated_add(const GatedAdd& job, cudaStream_t stream) {
  if (job.rows < 0 || job.rows > 0x7fffffff || job.width < 1) return cudaErrorInvalidValue;
  if (job.rows == 0) return cudaSuccess;
  const bool aligned = job.width % 4 == 0 && is_aligned(job.x) && is_aligned(job.out);
  const int parts =
      (job.width + static_cast<int>(kThreads) * 4 - 1) / (static_cast<int>(kThreads) * 4);
  const dim3 grid(static_cast<unsigned>(job.rows), static_cast<unsigned>(parts < 64 ? parts : 64));
  return launch(stream, grid, kThreads, aligned ? add_gated<true> : add_gated<false>, job);
}

}  // namespace tandem::gpu_kernels
