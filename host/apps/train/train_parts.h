// SPDX-License-Identifier: Apache-2.0
//
// What runs of `tandem train` share, with and without a pipeline.
//
// Threads: one. Errors: those of the files and of the page.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/train/rank_place.h"
#include "apps/train/train_options.h"
#include "apps/train/train_page.h"
#include "training/trainer/checkpoint.h"
#include "training/trainer/option_agreement.h"
#include "training/trainer/training_log.h"

namespace tandem::apps {

// Of libtandem_trainer.so: beside the program's folder, in the build tree as in an installation.
std::string library_folder();

// The cores that this process may use: its share of them unless the launcher has bound it.
int threads_of(const TrainOptions& options, const RankPlace& place);

using Logs = std::vector<std::unique_ptr<training::TrainingLog>>;

// Those that the options name. step: the first lines of a resumed run's table stay up to it.
std::vector<training::TrainingLog*> open_logs(const TrainOptions& options, std::uint64_t step,
                                              TrainPage& page, Logs& logs);

// Tells of a new run that saves nothing, or whose folder has the checkpoints of another run.
void warn_of_folder(const std::string& out);

// Warns about a resumed run's options that the user may not intend. described: the present ones.
void warn_of_resume(const TrainOptions& options, const training::Checkpoint& checkpoint,
                    const training::OptionValues& described, bool is_first);

}  // namespace tandem::apps
