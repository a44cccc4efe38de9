// SPDX-License-Identifier: Apache-2.0
//
// TrainJob: the model, the samples and the task that the options of `tandem train` select.
//
// Decoders and LSTMs learn from text, recommenders from clicks. A resumed run has the model of its
// checkpoint. Ownership: a job owns everything except the library. A JobSource borrows its members.
// Threads: one. Errors: Error("train", ...) for options that contradict each other or the model.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "apps/train/dynamic_options.h"
#include "apps/train/train_options.h"
#include "common/error.h"
#include "training/trainer/checkpoint.h"
#include "training/trainer/computation_library.h"
#include "training/trainer/decoder_model.h"
#include "training/trainer/option_agreement.h"
#include "training/trainer/token_text.h"
#include "training/trainer/training_task.h"

namespace tandem::apps {

class TrainJob {
 public:
  virtual ~TrainJob() = default;
  virtual training::ParameterSet& parameters() = 0;
  virtual training::TrainingTask& task() = 0;
  virtual std::string size() const = 0;  // "12345 tokens"
  // Must be equal on all ranks, in addition to options and weights.
  virtual std::uint64_t data_checksum() const = 0;
  virtual std::uint64_t valid_checksum() const = 0;  // of --valid; 0: none
};

struct JobSource {
  const TrainOptions& options;
  const training::Checkpoint* checkpoint = nullptr;  // null: a new run
  // Loads libtorch, which takes a second. So jobs read and check their files first.
  const std::function<const training::ComputationLibrary&()>& library;
  int threads = 1;

  training::ComputationOptions computation() const {
    return {threads, options.precision == "bf16", options.recompute, options.seed,
            dynamic_blocks(options)};
  }
};

std::unique_ptr<TrainJob> make_job(const JobSource& source);

// Returns the error for a resumed run whose options describe another model than its checkpoint.
// difference: "rows is [10] there and [20] here".
Error other_model(const TrainOptions& options, const std::string& difference);

// "llama", "lstm", "recommender": what the checkpoint has, or what the options name.
std::string kind_of(const JobSource& source);
// The decoder of a source of that kind.
training::DecoderModel decoder_of(const JobSource& source);
// Tokens of a window. Without --context: kWindowTokens, or the decoder's context if it is shorter.
inline constexpr int kWindowTokens = 256;
int window_tokens(const training::DecoderModel& model, const std::optional<int>& asked);
// Must be equal on all ranks.
std::uint64_t checksum_of(const training::TokenText& text);

// Make the job of a source. kind: "llama" or "lstm".
std::unique_ptr<TrainJob> make_language_job(const JobSource& source, const std::string& kind);
std::unique_ptr<TrainJob> make_recommender_job(const JobSource& source);

}  // namespace tandem::apps
