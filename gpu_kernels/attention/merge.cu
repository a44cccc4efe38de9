// SPDX-License-Identifier: Apache-2.0
//
// merge_partials(): a warp per row and head. Coverage: begins [rows + 1] i32, padded to 16 bytes,
// then the sources of each row.
#include "attention/merge.h"

#include "common/launch.cuh"
#include "common/warp.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kWarps = 4;

std::size_t sources_offset(std::int64_t rows) {
  return (static_cast<std::size_t>(rows + 1) * sizeof(std::int32_t) + 15) / 16 * 16;
}

__global__ __launch_bounds__(32 * kWarps) void merge_rows(const __grid_constant__ MergePartials job,
                                                          std::size_t sources_at) {
  let_next_start();
  wait_for_previous();
  const int lane = static_cast<int>(threadIdx.x & 31u);
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32u;
  if (index >= job.rows * job.heads) return;
  const auto* begins = static_cast<const std::int32_t*>(job.coverage);
  const auto* sources = reinterpret_cast<const MergeSource*>(
      static_cast<const unsigned char*>(job.coverage) + sources_at);
  const std::int64_t row = index / job.heads;
  const std::int32_t begin = begins[row], end = begins[row + 1];
  const float nothing = __uint_as_float(0xff800000u);
  float peak = nothing;
  for (std::int32_t i = begin + lane; i < end; i += 32) {
    peak = fmaxf(peak, sources[i].lse[index]);
  }
  peak = warp_max(peak);
  const float zero = peak == nothing ? 0.0f : peak;
  float sum = 0.0f;
  for (std::int32_t i = begin + lane; i < end; i += 32) {
    sum += expf(sources[i].lse[index] - zero);
  }
  sum = warp_sum(sum);
  for (int d = lane; d < job.head_dim; d += 32) {
    float value = 0.0f;
    for (std::int32_t i = begin; i < end; ++i) {
      const float weight = expf(sources[i].lse[index] - zero) / sum;
      // what weighs nothing may hold anything; without a sum nothing weighs
      if (weight != 0.0f && sum != 0.0f) {
        value = fmaf(weight, sources[i].o[index * job.head_dim + d], value);
      }
    }
    job.out[index * job.head_dim + d] = value;
  }
  __syncwarp();  // all lanes have read what may be overwritten
  if (lane == 0 && job.lse != nullptr) job.lse[index] = zero + logf(sum);
}

}  // namespace

std::size_t merge_coverage_bytes(std::int64_t rows, std::size_t num_listed) {
  return sources_offset(rows) + num_listed * sizeof(MergeSource);
}

bool plan_merge(std::int64_t rows, std::span<const MergeCover> covers,
                std::span<std::byte> coverage) {
  std::size_t num_listed = 0;
  for (const MergeCover& cover : covers) num_listed += cover.rows.size();
  if (rows < 0 || coverage.size() < merge_coverage_bytes(rows, num_listed)) return false;
  auto* begins = reinterpret_cast<std::int32_t*>(coverage.data());
  auto* sources = reinterpret_cast<MergeSource*>(coverage.data() + sources_offset(rows));
  for (std::int64_t row = 0; row <= rows; ++row) begins[row] = 0;
  for (const MergeCover& cover : covers) {
    for (const std::int32_t row : cover.rows) {
      if (row < 0 || row >= rows) return false;
      ++begins[row + 1];
    }
  }
  // begins[row + 1] becomes the place of the row's next source, and so finally the row's end
  std::int32_t before = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int32_t count = begins[row + 1];
    begins[row + 1] = before;
    before += count;
  }
  for (const MergeCover& cover : covers) {
    for (const std::int32_t row : cover.rows) sources[begins[row + 1]++] = cover.source;
  }
  return true;
}

cudaError_t merge_partials(const MergePartials& job, cudaStream_t stream) {
  if (job.rows < 0 || job.heads < 1 || job.head_dim < 1) return cudaErrorInvalidValue;
  if (job.rows == 0) return cudaSuccess;
  const std::int64_t blocks = (job.rows * job.heads + kWarps - 1) / kWarps;
  return launch(stream, dim3(static_cast<unsigned>(blocks)), 32 * kWarps, merge_rows, job,
                sources_offset(job.rows));
}

}  // namespace tandem::gpu_kernels
