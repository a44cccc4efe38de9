// SPDX-License-Identifier: Apache-2.0
//
// `tandem train --pipeline N`: a run whose layers lie on N ranks.
//
// Threads: one. Errors: Error("train", ...) naming the option; TransportError when a rank is lost.
#pragma once

#include "apps/train/train_options.h"

namespace tandem::apps {

void add_pipeline_options(CLI::App& command, PipelineChoice& choice);

// Error for options that do not go together with --pipeline, before ranks meet.
void check_pipeline_options(const TrainOptions& options);
// Error for options that need --pipeline.
void refuse_without_pipeline(const TrainOptions& options);

void run_pipeline(const TrainOptions& options);

}  // namespace tandem::apps
