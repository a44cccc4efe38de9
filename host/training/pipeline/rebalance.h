// SPDX-License-Identifier: Apache-2.0
//
// choose_stages: whether other stages pay, from the measured times of the layers.
//
// The exact partition of the measured times is the candidate. Both plans are played through the
// schedule (pass_order.h). New stages are taken where (old - new) x steps > the time to move the
// layers. Pure; the same on all ranks that have the same profile. Errors: those of the planner.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "training/pipeline/pipeline_step.h"

namespace tandem::training {

struct LayerProfile {
  StageSeconds seconds;     // of one micro-batch
  std::uint64_t bytes = 0;  // that move with it
};

struct RebalanceQuestion {
  const StagePlan& plan;
  std::vector<LayerProfile> layers;
  double bytes_per_second = 1e9;    // between two ranks
  double seconds_per_layer = 1e-3;  // to build a layer at its new place
  std::uint64_t steps = 1;          // for which the profile holds
};

struct NewStages {
  planner::Cuts cuts;
  double old_step_seconds = 0, new_step_seconds = 0, migration_seconds = 0;
};

// Of a step under `plan`.
double predicted_step(const StagePlan& plan, const std::vector<LayerProfile>& layers);

// Nothing where the stages stay.
std::optional<NewStages> choose_stages(const RebalanceQuestion& question);

}  // namespace tandem::training
