// SPDX-License-Identifier: Apache-2.0
//
// The options of `tandem train`.
//
// Plain data, filled by the command line and `--config`. trainer_options() makes the checks that
// involve several options. Errors: Error("train", ...) naming the option.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/train/ranks.h"
#include "training/trainer/option_agreement.h"
#include "training/trainer/trainer.h"

namespace tandem::apps {

// The values of --pipeline and of the options that need it.
struct PipelineChoice {
  int ranks = 0;  // 0: no pipeline
  std::string schedule = "1f1b";
  int stages_per_rank = 1;
  std::vector<int> cuts;        // of the first step; empty: equal numbers of layers
  std::uint64_t rebalance = 0;  // steps; 0: layers stay
  double freeze = 0;
  std::optional<double> repack;  // none: all ranks hold layers
  std::int64_t rank_bytes = 0;   // 0: no limit
  std::string layer_times = "wall", migration = "overlapped", ranks_file;
};

// What the blocks of a decoder leave out while they train.
struct DynamicChoice {
  double expert_capacity = 0, sparse_attention = 0, early_exit = 0;  // 0: nothing
  double sparse_attention_last = 0;                                  // 0: as sparse_attention
  double depth = 1, expert_skew = 0;
  double sparse_products = 0.8;
};

struct TrainOptions {
  std::string config, text, data, valid, model_config, from, tokenizer;
  std::string out, resume;
  std::uint64_t steps = 0;
  int batch = 8, accumulate = 1;
  std::optional<int> context;  // none: 256, or the model's if that is less
  std::uint64_t seed = 1;
  std::string reduce = "dense", scheme = "allgather_sparse", sparsify = "steps";
  std::optional<std::uint64_t> reduce_warmup;
  std::uint64_t dense_below = 16384;
  std::string optimizer = "adamw", table_optimizer = "rowwise_adagrad";
  double table_rate = 0.02;
  double rate = 1e-3, last_rate = 0.1, weight_decay = 0.1, momentum = 0.9;
  double beta1 = 0.9, beta2 = 0.95;
  std::uint64_t warmup = 0;
  std::string decay = "constant", offload = "none";
  double clip = 1;
  std::string on_nan = "stop", precision = "f32";
  bool recompute = false, json = false;
  std::uint64_t log_every = 1, save_every = 0, evaluate_every = 0;
  int keep = 2, threads = 0;
  std::string ui, ui_keys;  // address of the page; empty: none
  training::Pruning pruning;
  MeetingOptions meeting;
  PipelineChoice pipeline;
  DynamicChoice dynamics;
};

void add_train_options(CLI::App& command, TrainOptions& options);

training::TrainerOptions trainer_options(const TrainOptions& options);

// The options that determine the bits of a run; a checkpoint stores them.
training::OptionValues described_options(const TrainOptions& options);

// The options that must be equal on all ranks.
training::OptionValues compared_options(const TrainOptions& options);

}  // namespace tandem::apps
