// SPDX-License-Identifier: Apache-2.0
//
// The sums of a PipelineTrainer over one step and over several steps. Private to the trainer's
// sources.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "training/pipeline/pipeline_trainer.h"

namespace tandem::training {

struct PipelineTrainer::Sums {
  double loss = 0;              // mean of the step
  std::vector<double> squares;  // [parameters] of their gradients
  double norm = 0;
  bool wants_stop = false;
};

struct PipelineTrainer::Profile {
  using Clock = std::chrono::steady_clock;

  static double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  // Sums since the last change of the layers or of their work.
  std::map<int, StageSeconds> layers;
  std::uint64_t micro_batches = 0, since_step = 0;
  int frozen = 0;
  void clear(int now_frozen, std::uint64_t step) {
    layers.clear();
    micro_batches = 0;
    frozen = now_frozen;
    since_step = step;
  }

  // The speed of the slowest migration so far, over all ranks since they last gathered it; 0: none
  // yet.
  double bytes_per_second = 0;

  // Sums since the last line of the log.
  Clock::time_point begin = Clock::now();
  std::uint64_t steps = 0, bytes_before = 0;
  double passes_s = 0, waited_s = 0, update_s = 0;

  // Sums over the whole run.
  Clock::time_point run_begin = Clock::now();
  double deciding_s = 0, moving_s = 0;
  std::uint64_t readings = 0;  // of the clock, for the layers' times
  std::uint64_t migrations = 0, moved_bytes = 0;
};

}  // namespace tandem::training
