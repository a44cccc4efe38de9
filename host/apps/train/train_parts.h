// SPDX-License-Identifier: Apache-2.0
//
// Functions that `tandem train` uses with and without a pipeline.
//
// Threads: one. Errors: those of the log files and of TrainPage.
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

// The folder of libtandem_trainer.so, relative to the program's folder. The build tree and an
// installation have the same layout.
std::string library_folder();

// The number of threads of this process: --threads if it is given; all cores that the process may
// use if the launcher has bound it; otherwise its share of the cores.
int threads_of(const TrainOptions& options, const RankPlace& place);

using Logs = std::vector<std::unique_ptr<training::TrainingLog>>;

// Opens the logs that the options request. `logs` owns them. step: the table of a resumed run keeps
// its lines up to this step.
std::vector<training::TrainingLog*> open_logs(const TrainOptions& options, std::uint64_t step,
                                              TrainPage& page, Logs& logs);

// Logs a line if the run saves nothing, once it is known to begin.
void note_unsaved(const TrainOptions& options);

// Logs where the results are, after the last step. exportable: whether `tandem train export` takes
// the model.
void note_results(const TrainOptions& options, bool exportable, std::uint64_t steps_done,
                  bool was_stopped);

// Warns about a resumed run's options that the user may not intend. described: the present options.
// is_first: whether this is rank 0, which warns.
void warn_of_resume(const TrainOptions& options, const training::Checkpoint& checkpoint,
                    const training::OptionValues& described, bool is_first);

}  // namespace tandem::apps
