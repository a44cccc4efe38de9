// SPDX-License-Identifier: Apache-2.0
//
// Options of a pipeline: what they are, and what does not go together.
#include <string>

#include "apps/command_words.h"
#include "apps/train/pipeline_run.h"
#include "common/error.h"
#include "training/pipeline/pipeline_trainer.h"

namespace tandem::apps {
namespace {

constexpr int kMostRanks = 4096;

[[noreturn]] void refuse_beside(const std::string& option, const std::string& why) {
  throw Error("train", option + " cannot be combined with --pipeline: " + why);
}

}  // namespace

void add_pipeline_options(CLI::App& command, PipelineChoice& choice) {
  const char* group = "Pipeline";
  command
      .add_option("--pipeline", choice.ranks,
                  "ranks over which the layers of a decoder are spread; --accumulate says how many "
                  "micro-batches a step has. A multiple of these ranks makes replicas, whose "
                  "gradients --reduce combines")
      ->check(CLI::Range(1, kMostRanks))
      ->group(group);
  command.add_option("--schedule", choice.schedule, "order of the passes")
      ->check(CLI::IsMember({"gpipe", "1f1b", "interleaved", "zero-bubble"}))
      ->group(group);
  command
      .add_option("--stages-per-rank", choice.stages_per_rank, "stages of a rank, of interleaved")
      ->check(CLI::Range(1, kMostRanks))
      ->group(group);
  command
      .add_option("--cuts", choice.cuts,
                  "first layer of the second stage, of the third, ...: 0 is the embedding, then "
                  "the blocks, then the output (default: equal numbers of layers)")
      ->delimiter(',')
      ->default_str("")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
  command
      .add_option("--rebalance", choice.rebalance,
                  "steps between two looks at the layers' times; layers move where that pays (0: "
                  "they stay)")
      ->check(count_value())
      ->group(group);
  command
      .add_option("--freeze", choice.freeze,
                  "share of the run after which the first layer learns no more; the later layers "
                  "follow, the output never does (0: all learn to the end)")
      ->check(in_range(0, 1))
      ->group(group);
  command
      .add_option("--repack", choice.repack,
                  "with --rebalance: how much longer a step may be if fewer ranks hold layers, as "
                  "a share; freed ranks sleep and are taken back when they pay (default: all hold "
                  "layers)")
      ->check(not_negative())
      ->default_str("")
      ->group(group);
  command
      .add_option(
          "--rank-bytes", choice.rank_bytes,
          "with --rebalance: most bytes of weights and optimiser state of a rank in new stages; "
          "those of --cuts are not limited (0: no limit)")
      ->check(count_value())
      ->group(group);
  command
      .add_option("--ranks-file", choice.ranks_file,
                  "file that rank 0 replaces after every migration, with the ranks that are free")
      ->group(group);
  command
      .add_option("--migration", choice.migration,
                  "overlapped: layers move while the next step computes; between: before it")
      ->check(CLI::IsMember({"overlapped", "between"}))
      ->group(group);
  command
      .add_option("--layer-times", choice.layer_times,
                  "wall, or processor: of each rank's thread, for ranks that share processors")
      ->check(CLI::IsMember({"wall", "processor"}))
      ->group(group);
}

void check_pipeline_options(const TrainOptions& options) {
  if (!options.data.empty()) refuse_beside("--data", "only decoders have layers to spread");
  if (options.reduce == "auto") {
    refuse_beside("--reduce auto", "name dense, or a sparsifier for the replicas");
  }
  if (options.offload != "none") {
    refuse_beside("--offload " + options.offload, "every rank updates its own layers");
  }
  if (options.meeting.elastic) {
    refuse_beside("--elastic", "a lost rank's layers are lost; --resume continues without it");
  }
  if (options.on_nan == "back") refuse_beside("--on-nan back", "choose stop or skip");
  const PipelineChoice& choice = options.pipeline;
  const char* of_rebalance = nullptr;
  if (choice.repack) of_rebalance = "--repack";
  if (choice.rank_bytes > 0) of_rebalance = "--rank-bytes";
  if (!choice.ranks_file.empty()) of_rebalance = "--ranks-file";
  if (choice.rebalance == 0 && of_rebalance != nullptr) {
    throw Error("train", std::string(of_rebalance) +
                             " needs --rebalance, the number of steps after which layers may move");
  }
  if (choice.layer_times == "processor" && options.threads != 1) {
    throw Error("train", "--layer-times processor counts one thread; add --threads 1");
  }
  const int micro_batches = options.accumulate;
  training::check_shape({training::pass_order_named(options.pipeline.schedule),
                         options.pipeline.ranks, micro_batches, options.pipeline.stages_per_rank});
}

void refuse_without_pipeline(const TrainOptions& options) {
  const PipelineChoice& choice = options.pipeline;
  const PipelineChoice none;
  const char* option = nullptr;
  if (choice.schedule != none.schedule) option = "--schedule";
  if (choice.stages_per_rank != none.stages_per_rank) option = "--stages-per-rank";
  if (!choice.cuts.empty()) option = "--cuts";
  if (choice.rebalance > 0) option = "--rebalance";
  if (choice.freeze > 0) option = "--freeze";
  if (choice.repack) option = "--repack";
  if (choice.rank_bytes > 0) option = "--rank-bytes";
  if (choice.layer_times != none.layer_times) option = "--layer-times";
  if (!choice.ranks_file.empty()) option = "--ranks-file";
  if (choice.migration != none.migration) option = "--migration";
  if (option == nullptr) return;
  throw Error("train",
              std::string(option) + " needs --pipeline, the number of ranks (1: this rank alone)");
}

training::PipelineOptions pipeline_options(const TrainOptions& all, int replicas) {
  const PipelineChoice& choice = all.pipeline;
  const DynamicChoice& dynamics = all.dynamics;
  training::PipelineOptions options;
  options.order = training::pass_order_named(choice.schedule);
  options.chunks = choice.stages_per_rank;
  options.cuts = choice.cuts;
  options.rebalance_every = choice.rebalance;
  options.warm_up = 1;
  options.work = {choice.freeze, dynamics.depth, dynamics.expert_skew};
  options.work.drifts = dynamics.expert_capacity > 0 || dynamics.sparse_attention > 0 ||
                        dynamics.early_exit > 0 || all.pruning.is_on();
  options.repack = choice.repack;
  options.overlap = choice.migration == "overlapped";
  options.replicas = replicas;
  if (choice.rank_bytes > 0) options.rank_bytes = choice.rank_bytes;
  if (choice.layer_times == "processor") options.clock = training::LayerClock::kThread;
  return options;
}

}  // namespace tandem::apps
