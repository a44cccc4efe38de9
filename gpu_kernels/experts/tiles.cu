// SPDX-License-Identifier: Apache-2.0
//
// One block, a thread per expert: counts its tiles; a scan gives their places.
#include "common/block_scan.cuh"
#include "common/launch.cuh"
#include "experts/experts.h"

namespace tandem::gpu_kernels {
namespace {

constexpr int kThreads = kMaxExperts;

__global__ __launch_bounds__(kThreads) void cut(ExpertTiles job) {
  let_next_start();
  wait_for_previous();
  __shared__ std::uint32_t scratch[kThreads / 32 + 1];
  const int expert = static_cast<int>(threadIdx.x);
  const std::int32_t begin = expert < job.experts ? job.begins[expert] : 0;
  const std::int32_t end = expert < job.experts ? job.begins[expert + 1] : 0;
  const auto tiles = static_cast<std::uint32_t>((end - begin + job.tile_rows - 1) / job.tile_rows);
  std::uint32_t all;
  std::uint32_t to = block_exclusive_scan<kThreads>(tiles, scratch, &all);
  for (std::int32_t first = begin; first < end; first += job.tile_rows) {
    job.tiles[to++] = {expert, first, min(job.tile_rows, end - first)};
  }
  if (expert == 0) *job.num_tiles = static_cast<std::int32_t>(all);
}

}  // namespace

cudaError_t cut_expert_tiles(const ExpertTiles& job, cudaStream_t stream) {
  if (job.experts < 1 || job.experts > kMaxExperts || job.tile_rows < 1) {
    return cudaErrorInvalidValue;
  }
  return launch(stream, 1, kThreads, cut, job);
}

}  // namespace tandem::gpu_kernels
