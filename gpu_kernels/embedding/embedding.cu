// SPDX-License-Identifier: Apache-2.0
//
// A row per blockIdx.x, its columns over blockIdx.y and the threads: eight values of a block each,
// or four of a row of floats.
#include "embedding/embedding.h"

#include "common/blocks.cuh"
#include "common/launch.cuh"
#include "common/quads.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr unsigned kThreads = 128;

__device__ float not_a_number() { return float_of(0x7fc00000u); }

// Returns x * scale; a scale of 1 leaves every bit, of a NaN too.
__device__ float times(float x, float scale) { return scale == 1.0f ? x : __fmul_rn(x, scale); }

template <typename Stored>
__global__ __launch_bounds__(kThreads) void embed(EmbedRows job) {
  let_next_start();
  wait_for_previous();
  constexpr int kItem = kIsBlock<Stored> ? 8 : 4;
  const std::int64_t row = blockIdx.x;
  const std::int32_t id = job.ids[row];
  const bool exists = id >= 0 && id < job.table_rows;
  float* out = job.out + row * job.width;
  const auto* table = static_cast<const Stored*>(job.table) +
                      (exists ? id : 0) * static_cast<std::int64_t>(job.width / kValuesOf<Stored>);
  const int step = static_cast<int>(gridDim.y * kThreads) * kItem;
  for (int at = static_cast<int>(blockIdx.y * kThreads + threadIdx.x) * kItem; at < job.width;
       at += step) {
    float values[kItem];
    if constexpr (kIsBlock<Stored>) {
      dequantize_eight(table[at / Stored::kValues], at % Stored::kValues, values);
    } else {
#pragma unroll
      for (int i = 0; i < kItem; ++i) values[i] = at + i < job.width ? widen(table[at + i]) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < kItem; ++i) {
      if (at + i < job.width) out[at + i] = exists ? times(values[i], job.scale) : not_a_number();
    }
  }
}

template <bool kAligned>
__global__ __launch_bounds__(kThreads) void gather(GatherRows job) {
  let_next_start();
  wait_for_previous();
  const std::int64_t row = blockIdx.x;
  const std::int32_t pick = job.picks[row];
  const bool exists = pick >= 0 && pick < job.x_rows;
  const float* x = job.x + (exists ? pick : 0) * static_cast<std::int64_t>(job.width);
  float* out = job.out + row * job.width;
  const int step = static_cast<int>(gridDim.y * kThreads) * 4;
  for (int at = static_cast<int>(blockIdx.y * kThreads + threadIdx.x) * 4; at < job.width;
       at += step) {
    Quad quad = load_quad<kAligned>(x, at, job.width);
    if (!exists) {
#pragma unroll
      for (int i = 0; i < 4; ++i) quad.v[i] = not_a_number();
    }
    store_quad<kAligned>(out, at, job.width, quad);
  }
}

dim3 grid_of(std::int64_t rows, int width, int item) {
  const int columns = static_cast<int>(kThreads) * item;
  const int parts = (width + columns - 1) / columns;
  return {static_cast<unsigned>(rows), static_cast<unsigned>(parts < 64 ? parts : 64)};
}

bool is_shape(std::int64_t rows, int width, std::int64_t table_rows) {
  return rows >= 0 && rows <= 0x7fffffff && width > 0 && table_rows > 0;
}

}  // namespace

cudaError_t embed_rows(const EmbedRows& job, cudaStream_t stream) {
  if (!is_shape(job.rows, job.width, job.table_rows) || !is_aligned(job.table) ||
      job.width % values_per_block(job.type) != 0) {
    return cudaErrorInvalidValue;
  }
  if (job.rows == 0) return cudaSuccess;
  return with_stored(job.type, [&](auto stored) {
    using Stored = decltype(stored);
    return launch(stream, grid_of(job.rows, job.width, kIsBlock<Stored> ? 8 : 4), kThreads,
                  embed<Stored>, job);
  });
}

cudaError_t gather_rows(const GatherRows& job, cudaStream_t stream) {
  if (!is_shape(job.rows, job.width, job.x_rows)) return cudaErrorInvalidValue;
  if (job.rows == 0) return cudaSuccess;
  const bool aligned = job.width % 4 == 0 && is_aligned(job.x) && is_aligned(job.out);
  return launch(stream, grid_of(job.rows, job.width, 4), kThreads,
                aligned ? gather<true> : gather<false>, job);
}

}  // namespace tandem::gpu_kernels
