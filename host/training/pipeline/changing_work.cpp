// SPDX-License-Identifier: Apache-2.0
//
// Layers are frozen for good, so a bisection finds the step of the next change.
#include "training/pipeline/changing_work.h"

#include <algorithm>
#include <cmath>

#include "planner/pipeline/dynamic_workload.h"

namespace tandem::training {
namespace {

constexpr double kDepthBegin = 0.1, kDepthEnd = 0.7;  // shares of the run

double share_of_run(std::uint64_t step, std::uint64_t steps) {
  return static_cast<double>(step) / static_cast<double>(steps);
}

// Of a change between both shares of the run, by a cubic curve: from 1 to 0.
double change_left(std::uint64_t step, std::uint64_t steps) {
  const double done =
      std::clamp((share_of_run(step, steps) - kDepthBegin) / (kDepthEnd - kDepthBegin), 0.0, 1.0);
  const double left = 1 - done;
  return left * left * left;
}

}  // namespace

int frozen_layers(double freeze, int num_layers, std::uint64_t step, std::uint64_t steps) {
  if (freeze <= 0) return 0;
  const double done = share_of_run(step, steps);
  int frozen = 0;
  while (frozen + 1 < num_layers &&
         planner::freeze_time(frozen, num_layers, std::cbrt(freeze)) <= done) {
    ++frozen;
  }
  return frozen;
}

double depth_share(double last, std::uint64_t step, std::uint64_t steps) {
  return last + (1 - last) * change_left(step, steps);
}

double skew_at(double last, std::uint64_t step, std::uint64_t steps) {
  return last * (1 - change_left(step, steps));
}

std::vector<WorkAhead> work_ahead(const ChangingWork& work, int num_layers, std::uint64_t step,
                                  std::uint64_t steps, std::uint64_t every) {
  const bool changes = work.follows_curves() && change_left(step, steps) > 0;
  const std::uint64_t end = work.drifts || changes ? std::min(steps, step + every) : steps;
  std::vector<WorkAhead> ahead;
  while (step < end && ahead.size() < kMostPhases) {
    const int frozen = frozen_layers(work.freeze, num_layers, step, steps);
    std::uint64_t same = step, other = end;
    while (other - same > 1) {
      const std::uint64_t middle = same + (other - same) / 2;
      const bool is_same = frozen_layers(work.freeze, num_layers, middle, steps) == frozen;
      (is_same ? same : other) = middle;
    }
    ahead.push_back({other - step, frozen});
    step = other;
  }
  return ahead;
}

}  // namespace tandem::training
