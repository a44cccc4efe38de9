// SPDX-License-Identifier: Apache-2.0
//
// TrainJob: the model, its samples and the task that the options of `tandem train` name.
//
// Decoders and LSTMs learn a text; recommenders learn clicks. A resumed run has the model of its
// checkpoint. Ownership: a job owns everything but the library. A source borrows. Threads: one.
// Errors: Error("train", ...) for options that do not fit each other or the model.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "apps/train/train_options.h"
#include "common/error.h"
#include "training/trainer/checkpoint.h"
#include "training/trainer/computation_library.h"
#include "training/trainer/option_agreement.h"
#include "training/trainer/training_task.h"

namespace tandem::apps {

class TrainJob {
 public:
  virtual ~TrainJob() = default;
  virtual training::ParameterSet& parameters() = 0;
  virtual training::TrainingTask& task() = 0;
  virtual std::string size() const = 0;  // "12345 tokens"
  // What must be equal on all ranks, beside options and weights.
  virtual std::uint64_t data_checksum() const = 0;
  virtual std::uint64_t valid_checksum() const = 0;  // of --valid; 0: none
};

struct JobSource {
  const TrainOptions& options;
  const training::Checkpoint* checkpoint = nullptr;  // null: a new run
  // Loads libtorch, which takes a second: jobs read and check their files before.
  const std::function<const training::ComputationLibrary&()>& library;
  int threads = 1;

  training::ComputationOptions computation() const {
    return {threads, options.precision == "bf16", options.recompute, options.seed};
  }
};

std::unique_ptr<TrainJob> make_job(const JobSource& source);

// The error of a resumed run whose options name another model than its checkpoint has.
// difference: "rows is [10] there and [20] here".
Error other_model(const TrainOptions& options, const std::string& difference);

// Of the two kinds.
std::unique_ptr<TrainJob> make_language_job(const JobSource& source, const std::string& kind);
std::unique_ptr<TrainJob> make_recommender_job(const JobSource& source);

}  // namespace tandem::apps
