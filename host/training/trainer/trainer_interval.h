// SPDX-License-Identifier: Apache-2.0
//
// The times of the steps since the last line of the log. Private to the trainer's sources.
#pragma once

#include <chrono>
#include <cstdint>

#include "training/trainer/trainer.h"

namespace tandem::training {

struct Trainer::Interval {
  SteadyClock::time_point begin = SteadyClock::now();
  std::uint64_t steps = 0;
  double backward_s = 0, reduce_s = 0, update_s = 0;

  // Adds the time of `part` to a phase.
  template <typename Part>
  static auto timed(double& phase_s, const Part& part) {
    struct Watch {
      double& phase_s;
      SteadyClock::time_point begin = SteadyClock::now();
      ~Watch() { phase_s += std::chrono::duration<double>(SteadyClock::now() - begin).count(); }
    } watch{phase_s};
    return part();
  }

  // Runs work that is not part of a step.
  template <typename Part>
  void outside(const Part& part) {
    const auto before = SteadyClock::now();
    part();
    begin += SteadyClock::now() - before;
  }
};

}  // namespace tandem::training
