// SPDX-License-Identifier: Apache-2.0
//
// A rank holds its own layers only; the whole model is read where a file has it, and then dropped.
#include "apps/train/pipeline_run.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "apps/command_words.h"
#include "apps/train/job.h"
#include "apps/train/out_folder.h"
#include "apps/train/train_parts.h"
#include "apps/whole_file.h"
#include "common/error.h"
#include "training/pipeline/pipeline_trainer.h"
#include "training/trainer/decoder_export.h"
#include "training/trainer/mixing.h"
#include "training/trainer/text_batches.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

void stop_pipeline(int) { training::PipelineTrainer::request_stop(); }

// First values of a rank's parameters: drawn as a whole model's, or of the file.
class FirstValues {
 public:
  FirstValues(const TrainOptions& options, std::vector<training::ParameterSpec> specs)
      : options_(options), specs_(std::move(specs)) {}

  void operator()(const std::map<std::size_t, std::span<float>>& wanted) const {
    if (!options_.from.empty()) return read(wanted);
    for (const auto& [number, values] : wanted) {
      const training::ParameterSpec& spec = specs_[number];
      if (spec.deviation > 0) {
        training::draw_normal(values, spec.deviation, training::mixed(options_.seed, number));
      } else {
        std::ranges::fill(values, spec.constant);
      }
    }
  }

 private:
  void read(const std::map<std::size_t, std::span<float>>& wanted) const {
    training::ParameterSet whole(specs_);
    training::read_decoder_values(options_.from, whole);
    for (const auto& [number, values] : wanted) {
      std::ranges::copy(whole.values(number), values.begin());
    }
  }

  const TrainOptions& options_;
  std::vector<training::ParameterSpec> specs_;
};

// The model, its text, and what a trainer asks of them.
class PipelineJob {
 public:
  PipelineJob(const JobSource& source, int replicas)
      : options_(source.options),
        model_(decoder_of(source)),
        context_(window_tokens(model_, options_.context)),
        text_(options_.text, *model_.tokenizer),
        batches_(text_, model_, {options_.batch, context_, options_.seed}),
        library_(source.library()),
        computation_(source.computation()) {
    batches_.require(static_cast<std::uint64_t>(options_.batch) *
                     static_cast<std::uint64_t>(options_.accumulate) *
                     static_cast<std::uint64_t>(replicas));
    if (options_.valid.empty()) return;
    valid_.emplace(options_.valid, *model_.tokenizer);
    if (valid_->size() > 0) return;
    throw Error("train",
                "--valid " + options_.valid + " has no token to score; give a longer text");
  }

  training::PipelineParts parts() {
    training::PipelineParts parts;
    parts.parameters = parameters();
    parts.num_blocks = model_.config.num_layers;
    parts.width = model_.config.width + (options_.dynamics.early_exit > 0 ? 1 : 0);
    parts.losses_of_sample = static_cast<std::uint64_t>(context_);
    parts.make = [this](const training::LayerSpec& layer, training::ParameterSet& parameters) {
      return library_.make_layer(training::decoder_sizes(model_, context_), computation_,
                                 layer.part, layer.block, parameters);
    };
    parts.fill = FirstValues(options_, parts.parameters);
    parts.batch = [this](std::uint64_t first) { return batches_.at(first); };
    parts.model = &model_;
    if (valid_) {
      parts.score = [this](training::Computation& forward) {
        return training::evaluate(forward, *valid_, batches_.rows(), model_.tokenizer->bos(), {});
      };
    }
    return parts;
  }

  // Every second block of a mixture of depths has a router.
  std::vector<training::ParameterSpec> parameters() const {
    std::vector<training::ParameterSpec> specs = training::decoder_parameters(model_);
    if (options_.dynamics.depth == 1) return specs;
    const std::int64_t width = model_.config.width;
    const double deviation = 1 / std::sqrt(static_cast<double>(width));
    for (int block = 1; block < model_.config.num_layers; block += 2) {
      specs.push_back({fmt::format("blk.{}.depth_router.weight", block),
                       {1, width},
                       static_cast<float>(deviation),
                       0});
    }
    return specs;
  }

  // What all ranks must agree on, since their activations have these sizes.
  std::string sizes() const {
    const training::DecoderSizes sizes = training::decoder_sizes(model_, context_);
    return fmt::format(
        "{} layers, width {}, {} / {} heads of {}, feed-forward {}, vocabulary {}, {}",
        sizes.num_layers, sizes.width, sizes.q_heads, sizes.kv_heads, sizes.head_dim,
        sizes.ffn_width, sizes.vocab_size, model_.tied ? "tied" : "not tied");
  }

  std::uint64_t checksum() const { return checksum_of(text_); }
  std::uint64_t valid_checksum() const { return valid_ ? checksum_of(*valid_) : 0; }
  std::uint64_t num_tokens() const { return text_.size(); }

 private:
  const TrainOptions& options_;
  const training::DecoderModel model_;
  const int context_;
  const training::TokenText text_;
  std::optional<training::TokenText> valid_;
  training::TextBatches batches_;
  const training::ComputationLibrary& library_;
  const training::ComputationOptions computation_;
};

training::OptionValues described_pipeline(const PipelineChoice& choice) {
  return {{"--freeze", fmt::format("{}", choice.freeze)}};
}

// Before the first step; also the first time that the ranks wait for each other.
void compare(collectives::Group& group, const TrainOptions& options,
             const training::PipelineTrainer& trainer, const PipelineJob& job) {
  const PipelineChoice& choice = options.pipeline;
  training::OptionValues compared = compared_options(options);
  for (auto& value : described_pipeline(choice)) compared.push_back(std::move(value));
  compared.emplace_back("--pipeline", std::to_string(choice.ranks));
  compared.emplace_back("--schedule", choice.schedule);
  compared.emplace_back("--stages-per-rank", std::to_string(choice.stages_per_rank));
  compared.emplace_back("--cuts", fmt::format("{}", fmt::join(choice.cuts, ",")));
  compared.emplace_back("--rebalance", std::to_string(choice.rebalance));
  compared.emplace_back("--repack", choice.repack ? fmt::format("{}", *choice.repack) : "none");
  compared.emplace_back("--rank-bytes", std::to_string(choice.rank_bytes));
  compared.emplace_back("--layer-times", choice.layer_times);
  compared.emplace_back("--migration", choice.migration);
  compared.emplace_back("the steps that are done", std::to_string(trainer.steps_done()));
  compared.emplace_back("the model", job.sizes());
  compared.emplace_back("the data (checksum)", std::to_string(job.checksum()));
  compared.emplace_back("the data of --valid (checksum)", std::to_string(job.valid_checksum()));
  training::require_equal_options(group, compared);
}

void run_ranks_of(training::PipelineTrainer& trainer, Ranks& ranks, const TrainOptions& options,
                  const PipelineJob& job) {
  try {
    if (ranks.group() != nullptr) compare(*ranks.group(), options, trainer, job);
    std::signal(SIGTERM, stop_pipeline);
    std::signal(SIGINT, stop_pipeline);
    trainer.run(ranks.group());
  } catch (const transport::TransportError& error) {
    throw ranks.with_lost_ranks(error);
  } catch (const std::exception& error) {
    ranks.abort(error.what());
    throw;
  }
}

// How many pipelines of `ranks` ranks the job has.
int replicas_of(const RankPlace& place, const TrainOptions& options) {
  const int ranks = options.pipeline.ranks;
  if (place.world % ranks != 0) {
    throw Error("train",
                fmt::format("--pipeline {} needs as many ranks, or a multiple, and there {} {}; "
                            "start them by mpirun -n {} or torchrun",
                            ranks, place.world == 1 ? "is" : "are", place.world, ranks));
  }
  if (place.world == ranks && options.reduce != "dense") {
    throw Error("train", "--reduce " + options.reduce +
                             " is for replicas of a pipeline, and its ranks are all that there "
                             "are; start a multiple of them");
  }
  return place.world / ranks;
}

// For the launcher, which may use the processors of freed ranks.
void write_ranks_file(const std::string& path, const nlohmann::ordered_json& line) {
  WholeFile file("train", path);
  file.write(nlohmann::ordered_json(
                 {{"step", line["rebalanced_after_step"]}, {"freed_ranks", line["freed_ranks"]}})
                 .dump() +
             "\n");
  file.keep();
}

void tell_of_pipeline(const nlohmann::ordered_json& line, const TrainOptions& options) {
  const std::string& ranks_file = options.pipeline.ranks_file;
  if (line.contains("freed_ranks") && !ranks_file.empty()) write_ranks_file(ranks_file, line);
  if (options.json) {
    std::fputs((line.dump() + "\n").c_str(), stdout);
    std::fflush(stdout);
  }
  if (line.contains("rebalanced_after_step")) {
    spdlog::info("after step {} the stages begin with the layers {}",
                 line["rebalanced_after_step"].get<std::uint64_t>(), line["cuts"].dump());
  }
}

}  // namespace

void run_pipeline(const TrainOptions& options) {
  const RankPlace place = find_rank_place();
  const int replicas = replicas_of(place, options);
  if (place.rank != 0) spdlog::set_level(spdlog::level::warn);
  training::TrainerOptions settings = trainer_options(options);
  settings.threads = threads_of(options, place);
  for (auto& value : described_pipeline(options.pipeline)) {
    settings.described.push_back(std::move(value));
  }
  const std::function<const training::ComputationLibrary&()> library =
      []() -> const training::ComputationLibrary& {
    return training::ComputationLibrary::open(library_folder());
  };
  std::optional<training::Checkpoint> checkpoint;
  if (!options.resume.empty()) checkpoint = training::find_checkpoint(options.resume);
  const OutFolder out(options.out, checkpoint ? &*checkpoint : nullptr, place.rank == 0);
  const JobSource source{options, checkpoint ? &*checkpoint : nullptr, library, settings.threads};
  if (const std::string kind = kind_of(source); kind != "llama") {
    throw Error("train", "--pipeline spreads decoders, and this model is of the kind " + kind);
  }
  if (options.text.empty()) {
    throw Error("train", "--text is missing: a file of UTF-8, or of token ids in .u16 or .u32");
  }
  PipelineJob job(source, replicas);
  TrainPage page({options.ui, options.ui_keys,
                  options.out.empty() ? "a model" : fs::path(options.out).filename().string(),
                  options.steps});
  Logs logs;
  training::PipelineParts parts = job.parts();
  parts.open_logs = [&](std::uint64_t step) { return open_logs(options, step, page, logs); };
  parts.tell = [&](const nlohmann::ordered_json& line) { tell_of_pipeline(line, options); };
  training::PipelineTrainer trainer(settings, pipeline_options(options, replicas),
                                    std::move(parts));
  if (checkpoint) {
    trainer.resume(*checkpoint);
    warn_of_resume(options, *checkpoint, settings.described, place.rank == 0);
  }
  note_unsaved(options);
  Ranks ranks(place, options.meeting);
  spdlog::info("{} layers over {} ranks, {} tokens, libtorch {}", trainer.num_layers(), place.world,
               job.num_tokens(), library().libtorch_version());
  if (replicas > 1) spdlog::info("{} replicas of a pipeline", replicas);
  run_ranks_of(trainer, ranks, options, job);
  const nlohmann::json described =
      std::map<std::string, std::string>(settings.described.begin(), settings.described.end());
  const bool exportable = training::unexportable_option(described).empty();
  note_results(options, exportable, trainer.steps_done(), trainer.was_stopped());
}

}  // namespace tandem::apps
