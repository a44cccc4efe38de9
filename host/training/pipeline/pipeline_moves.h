// SPDX-License-Identifier: Apache-2.0
//
// Layers of a PipelineTrainer that are on their way, and why. Private to the trainer's sources.
#pragma once

#include <cstdint>
#include <utility>

#include "training/pipeline/migration.h"
#include "training/pipeline/pipeline_trainer.h"

namespace tandem::training {

struct PipelineTrainer::Moves {
  Moves(MigrationInput input, StagePlan then, NewStages why, std::uint64_t step)
      : migration(std::move(input)),
        after(std::move(then)),
        found(std::move(why)),
        decided_after(step) {}

  Migration migration;
  const StagePlan after;
  const NewStages found;
  const std::uint64_t decided_after;
  double seconds = 0;  // that the rank did nothing else
  double cost_s = 0;   // of them by the clock of the layers, which steps are predicted by
};

}  // namespace tandem::training
