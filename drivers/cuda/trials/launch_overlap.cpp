// SPDX-License-Identifier: Apache-2.0
//
// The trial's chain: sums of rows, normalised back and forth between two buffers.
#include "cuda/trials/launch_overlap.h"

#include <span>
#include <vector>

#include "common/launch_chain.h"
#include "cuda/trials/kernel_choice.h"
#include "norm/rms_norm.h"

namespace tandem::cuda {
namespace {

using gpu_kernels::KernelPath;

constexpr int kRows = 16, kWidth = 4096;  // of a decode step
constexpr int kRounds = 8;                // of two launches
constexpr std::size_t kCount = std::size_t{kRows} * kWidth;

struct Chain {
  PoolRange memory;  // the start, the other buffer, the weight

  float* start() const { return memory.as<float>(); }
  float* other() const { return start() + kCount; }
  float* weight() const { return other() + kCount; }

  void prepare(Gpu& gpu) {
    std::vector<float> values(2 * kCount + kWidth);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i * 7919 % 2003) / 1001.5f - 1.0f;
    }
    memory = upload_for_trial(gpu, std::as_bytes(std::span(values)));
  }

  // Every value of a result depends on all of its row in the launch before.
  cudaError_t launch(bool overlap, float* results, cudaStream_t stream) const {
    const gpu_kernels::ChainedLaunches chain(overlap);
    for (int round = 0; round < kRounds; ++round) {
      for (const bool back : {false, true}) {
        gpu_kernels::RmsNorm job;
        job.rows = kRows;
        job.width = kWidth;
        job.x = back ? other() : round == 0 ? start() : results;
        job.weight = weight();
        job.out = back ? results : other();
        job.accumulate = back && round > 0;
        if (const cudaError_t error = rms_norm(job, stream); error != cudaSuccess) return error;
      }
    }
    return cudaSuccess;
  }
};

}  // namespace

bool launches_overlap(Gpu& gpu) {
  Chain chain;
  PathTrial trial;
  trial.what = "launches that overlap";
  trial.has_hopper = gpu.traits.capability >= 90 && gpu_kernels::code_capability() >= 90;
  trial.parts = {{"sums", kCount, 0}};
  trial.generic_word = "serial launches";
  trial.hopper_word = "overlapping launches";
  trial.prepare = [&] { chain.prepare(gpu); };
  trial.launch = [&](KernelPath path, float* results, cudaStream_t stream) {
    return chain.launch(path == KernelPath::kHopper, results, stream);
  };
  return choose_path(gpu, trial) == KernelPath::kHopper;
}

}  // namespace tandem::cuda
