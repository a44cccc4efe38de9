// SPDX-License-Identifier: Apache-2.0
//
// choose_stages: decides from the measured times of the layers whether other stages are worth their
// migration.
//
// Candidates are the exact partitions of the measured times, and of those when more layers are
// frozen. They are played through the schedule (pass_order.h). Of all ways from plan to plan
// through the steps ahead, the one that takes the least time with its migrations is found, and its
// first plan is taken: new stages must gain more than the time to move their layers. With `repack`
// the candidate is of the fewest ranks whose step is at most 1 + repack times that of all ranks:
// freed ranks count as much as the steps that they may cost. Pure; the same on all ranks that have
// the same profile. Errors: those of the planner.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "training/pipeline/changing_work.h"
#include "training/pipeline/pipeline_step.h"

namespace tandem::training {

struct LayerProfile {
  StageSeconds seconds;     // of one micro-batch
  std::uint64_t bytes = 0;  // bytes that move with the layer
};

struct RebalanceQuestion {
  const StagePlan& plan;
  std::vector<LayerProfile> layers;
  double bytes_per_second = 1e9;    // between two ranks
  double seconds_per_layer = 1e-3;  // to build a layer at its new place
  std::uint64_t steps = 1;          // under new stages, for which the profile holds
  // Then: frozen layers have no backward pass any more. Without `repack`.
  std::vector<WorkAhead> later = {};
  double least_gain = 0;  // share of a step that new stages must save, if not on fewer ranks
  std::optional<double> repack = {};
  int most_ranks = 1;                                // with repack
  std::int64_t rank_bytes = planner::kNoStageLimit;  // of the layers of a rank
};

struct NewStages {
  planner::Cuts cuts;
  double old_step_seconds = 0, new_step_seconds = 0, migration_seconds = 0;
  int ranks = 0;  // that hold layers; 0: as many as before
};

// The predicted seconds of a step under `plan`.
double predicted_step(const StagePlan& plan, const std::vector<LayerProfile>& layers);

// Of the slowest rank's passes of one micro-batch.
double bottleneck_seconds(const StagePlan& plan, const std::vector<LayerProfile>& layers);

// The exact partition over that many ranks; nothing where the schedule or the memory does not allow
// them. Errors for times that cannot be.
std::optional<StagePlan> best_stages(const RebalanceQuestion& question, int ranks);

// Of layers of which the first `frozen` have no backward pass.
std::vector<LayerProfile> with_frozen(std::vector<LayerProfile> layers, int frozen);

// Nothing where the stages stay.
std::optional<NewStages> choose_stages(const RebalanceQuestion& question);

}  // namespace tandem::training
