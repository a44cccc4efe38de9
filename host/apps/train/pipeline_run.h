// SPDX-License-Identifier: Apache-2.0
//
// `tandem train --pipeline N`: a training run whose layers are divided over N ranks.
//
// Threads: one. Errors: Error("train", ...) naming the option; TransportError when a rank is lost.
#pragma once

#include "apps/train/train_options.h"
#include "training/pipeline/pipeline_trainer.h"

namespace tandem::apps {

void add_pipeline_options(CLI::App& command, PipelineChoice& choice);

// Throws Error for options that --pipeline does not support. Called before the ranks connect.
void check_pipeline_options(const TrainOptions& options);
// Throws Error for options that need --pipeline.
void refuse_without_pipeline(const TrainOptions& options);

// What the trainer is asked for.
training::PipelineOptions pipeline_options(const TrainOptions& options, int replicas);

void run_pipeline(const TrainOptions& options);

}  // namespace tandem::apps
