// SPDX-License-Identifier: Apache-2.0
//
// Options of `tandem train` with which the work of a decoder's layers changes while it trains.
//
// Pure but for add_dynamic_options(). Errors: Error("train", ...) naming the options.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "apps/train/train_options.h"
#include "training/trainer/computation.h"

namespace tandem::apps {

void add_dynamic_options(CLI::App& command, DynamicChoice& choice);

// experts: of a decoder, 0 if it is dense; absent for another model.
void check_dynamic_options(const TrainOptions& options, std::optional<int> experts);

// Those that a checkpoint stores.
training::OptionValues described_dynamics(const DynamicChoice& choice);

training::DynamicBlocks dynamic_blocks(const TrainOptions& options);

}  // namespace tandem::apps
