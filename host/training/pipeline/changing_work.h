// SPDX-License-Identifier: Apache-2.0
//
// How the work of a pipeline's layers changes during a run, where it follows from the step alone.
//
// Pure; threads: any. Sources: FreezeOut (arXiv 1706.04983), mixture of depths (arXiv 2404.02258).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::training {

struct ChangingWork {
  double freeze = 0;    // of the run, after which the first layer is frozen; 0: never
  double depth = 1;     // share of a row's tokens that every second block computes at the end
  double skew = 0;      // of the routing to experts in the last block, at the end
  bool drifts = false;  // it changes by itself as well, with what the layers learn

  bool follows_curves() const { return depth < 1 || skew > 0; }
};

// Layers that learn no more before step `step` (from 0): those whose share of the run is over,
// freeze^(1/3) + (1 - freeze^(1/3)) layer / layers, cubed. The output always learns.
int frozen_layers(double freeze, int num_layers, std::uint64_t step, std::uint64_t steps);

// The share of tokens of step `step`: 1 for a tenth of the run, then a fall by a cubic curve to
// `last`, from seven tenths on. The curve's form is an assumption.
double depth_share(double last, std::uint64_t step, std::uint64_t steps);

// The skew of step `step`, which rises as the share of tokens falls.
double skew_at(double last, std::uint64_t step, std::uint64_t steps);

// Steps with the same frozen layers.
struct WorkAhead {
  std::uint64_t steps = 0;
  int frozen = 0;
  bool operator==(const WorkAhead&) const = default;
};

// What can be told of the steps from `step` on, phase by phase: at most kMostPhases, and at most
// `every` steps where the work drifts, or shares and skews are on their way.
constexpr std::size_t kMostPhases = 8;
std::vector<WorkAhead> work_ahead(const ChangingWork& work, int num_layers, std::uint64_t step,
                                  std::uint64_t steps, std::uint64_t every);

}  // namespace tandem::training
