// SPDX-License-Identifier: Apache-2.0
//
// Names of options are those of the TOML file too.
#include "apps/train/train_options.h"

#include <spdlog/fmt/fmt.h>

#include "apps/command_words.h"
#include "apps/train/dynamic_options.h"
#include "apps/train/pipeline_run.h"
#include "collectives/scheme/scheme.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

constexpr int kMost = 1 << 20;

std::vector<std::string> scheme_names() {
  std::vector<std::string> names = {"auto"};
  for (const auto* scheme : collectives::all_schemes()) names.emplace_back(scheme->name());
  return names;
}

void add_model_options(CLI::App& command, TrainOptions& o) {
  const char* group = "Model and text";
  command.add_option("--text", o.text, "text to learn from (UTF-8), or token ids in .u16 or .u32")
      ->group(group);
  command
      .add_option("--data", o.data,
                  "clicks that a recommender learns: a file of Criteo's format, or synthetic")
      ->group(group);
  command
      .add_option(
          "--valid", o.valid,
          "text to score: the perplexity of `tandem perplexity`; of a recommender as --data")
      ->group(group);
  command
      .add_option("--model-config", o.model_config,
                  "sizes of a model from scratch: TOML, or a published config.json")
      ->group(group);
  command.add_option("--from", o.from, "model to continue from: a GGUF file, or a directory")
      ->group(group);
  command
      .add_option("--tokenizer", o.tokenizer,
                  "GGUF file whose tokenizer a new model gets, or bytes (default: what "
                  "--model-config says, else bytes)")
      ->group(group);
}

void add_run_options(CLI::App& command, TrainOptions& o) {
  const char* group = "Run";
  command.add_option("--steps", o.steps, "steps of the whole run, also of a resumed one")
      ->check(count_value())
      ->default_str("")  // has to be given
      ->group(group);
  command.add_option("--batch", o.batch, "windows or samples of each rank in a pass")
      ->check(CLI::Range(1, kMost))
      ->group(group);
  command.add_option("--accumulate", o.accumulate, "passes whose gradients are added up to a step")
      ->check(CLI::Range(1, kMost))
      ->group(group);
  command
      .add_option("--context", o.context,
                  "tokens of a window (256, or the model's where that is less)")
      ->check(CLI::Range(2, kMost))
      ->group(group);
  command.add_option("--seed", o.seed, "seed of weights, samples and sparsifiers")
      ->check(count_value())
      ->group(group);
  command.add_option("--threads", o.threads, "threads of each rank (0: its share of the cores)")
      ->check(CLI::Range(0, 1024))
      ->group(group);
  command.add_option("--precision", o.precision, "type in which matrices are multiplied")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->group(group);
  command
      .add_flag("--recompute", o.recompute,
                "compute a layer's activations again in the backward pass instead of keeping them")
      ->group(group);
  command
      .add_option("--on-nan", o.on_nan,
                  "a loss or gradient that is not a number: stop, leave "
                  "the step out, or go back to the last checkpoint")
      ->check(CLI::IsMember({"stop", "skip", "back"}))
      ->group(group);
}

void add_optimizer_options(CLI::App& command, TrainOptions& o) {
  const char* group = "Optimizer";
  command.add_option("--optimizer", o.optimizer, "rule of the update")
      ->check(CLI::IsMember({"adamw", "sgd", "rowwise_adagrad"}))
      ->group(group);
  command.add_option("--table-optimizer", o.table_optimizer, "rule of embedding tables")
      ->check(CLI::IsMember({"rowwise_adagrad", "row_adam", "sgd"}))
      ->group(group);
  command.add_option("--table-rate", o.table_rate, "learning rate of embedding tables")
      ->check(not_negative())
      ->group(group);
  command
      .add_option("--offload", o.offload,
                  "where the update is: none (every rank, all of it), host (divided over ranks, "
                  "beside the backward pass), auto (the faster of both, and cards that are present "
                  "where they are faster), or cards for embedding tables, as xrt:0,xrt:1")
      ->group(group);
  command.add_option("--rate", o.rate, "learning rate")->group(group);
  command.add_option("--warmup", o.warmup, "steps in which the rate rises from 0")
      ->check(count_value())
      ->group(group);
  command
      .add_option("--decay", o.decay,
                  "how the learning rate changes after --warmup; linear and cosine end at "
                  "--last-rate in step --steps")
      ->check(CLI::IsMember({"constant", "linear", "cosine"}))
      ->group(group);
  command
      .add_option("--last-rate", o.last_rate,
                  "share of the learning rate that is left at the last step")
      ->group(group);
  command.add_option("--weight-decay", o.weight_decay, "weight decay of matrices")->group(group);
  command.add_option("--beta1", o.beta1, "decay of the mean of gradients, of adamw")->group(group);
  command.add_option("--beta2", o.beta2, "decay of the mean of squares, of adamw")->group(group);
  command.add_option("--momentum", o.momentum, "momentum of sgd")->group(group);
  command.add_option("--clip", o.clip, "norm of the gradient above which it is scaled (0: none)")
      ->check(not_negative())
      ->group(group);
}

void add_pruning_options(CLI::App& command, training::Pruning& pruning) {
  const char* group = "Pruning";
  command
      .add_option(
          "--prune", pruning.share,
          "share of the weights of a decoder's blocks that are zero at the end; they become "
          "zero in steps, the smallest first (0: none)")
      ->check(in_range(0, 1))
      ->group(group);
  command
      .add_flag("--prune-together", pruning.together,
                "the smallest weights of all matrices of blocks, so that layers get different "
                "shares of zeros")
      ->group(group);
  command.add_option("--prune-from", pruning.begin, "share of the run before the first cut")
      ->check(in_range(0, 1))
      ->group(group);
  command.add_option("--prune-to", pruning.end, "share of the run after which nothing is cut")
      ->check(in_range(0, 1))
      ->group(group);
  command
      .add_option("--prune-every", pruning.every,
                  "steps between two cuts (0: a twentieth of the time between both)")
      ->check(count_value())
      ->group(group);
}

constexpr const char* kRanks = "Ranks";

void add_reduce_options(CLI::App& command, TrainOptions& o) {
  const char* group = kRanks;
  command
      .add_option("--reduce", o.reduce,
                  "how gradients are added up: dense, auto, or a sparsifier with its density, as "
                  "exdyna@0.01")
      ->group(group);
  command
      .add_option("--sparsify", o.sparsify,
                  "what a named sparsifier selects from: the steps that each rank's own optimizer "
                  "would take (adamw, and sgd with momentum), or gradients")
      ->check(CLI::IsMember({"steps", "gradients"}))
      ->group(group);
  command
      .add_option("--dense-below", o.dense_below,
                  "parameters with fewer values are added up densely, as are vectors")
      ->check(count_value())
      ->group(group);
  command
      .add_option("--reduce-warmup", o.reduce_warmup,
                  "first steps, which are dense; without, by density (README of the trainer)")
      ->check(count_value())
      ->group(group);
  command
      .add_option(
          "--scheme", o.scheme,
          "scheme of sparse sums; auto measures them, so two runs may differ in their last bits")
      ->check(CLI::IsMember(scheme_names()))
      ->group(group);
}

void add_rank_options(CLI::App& command, TrainOptions& o) {
  const char* group = kRanks;
  command
      .add_option("--transport", o.meeting.transport,
                  "how the ranks send to each other (auto: mpi under mpirun, else gloo)")
      ->check(CLI::IsMember({"auto", "mpi", "gloo"}))
      ->group(group);
  command
      .add_option("--store", o.meeting.store, "gloo: folder where ranks meet (default: in --out)")
      ->group(group);
  command.add_option("--address", o.meeting.address, "gloo: address of this host to listen on")
      ->group(group);
  command
      .add_flag(
          "--elastic", o.meeting.elastic,
          "ranks that remain after a loss continue from the last checkpoint (mpirun needs its "
          "option --enable-recovery)")
      ->group(group);
  command
      .add_flag("--join", o.meeting.join,
                "join the elastic run of --out as a new rank, at its next checkpoint")
      ->group(group);
  command.add_option("--timeout", o.meeting.timeout_s, "seconds that a rank may be late")
      ->check(in_range(0.1, 1e6))
      ->group(group);
}

void add_output_options(CLI::App& command, TrainOptions& o) {
  const char* group = "Output";
  command.add_option("--out", o.out, "folder of checkpoints and logs, the same for all ranks")
      ->group(group);
  command
      .add_option(
          "--resume", o.resume,
          "folder of a run or of one checkpoint to continue from; also --out, unless that is "
          "given")
      ->group(group);
  command.add_option("--save-every", o.save_every, "steps between checkpoints (0: at the end)")
      ->check(count_value())
      ->group(group);
  command.add_option("--keep", o.keep, "newest checkpoints that stay (0: all)")
      ->check(CLI::Range(0, kMost))
      ->group(group);
  command.add_option("--log-every", o.log_every, "steps between lines of the logs")
      ->check(CLI::Range(1, kMost))
      ->group(group);
  command
      .add_option("--evaluate-every", o.evaluate_every,
                  "steps between scores of --valid (0: at "
                  "the end)")
      ->check(count_value())
      ->group(group);
  command.add_flag("--json", o.json, "a line of JSON per logged step on standard output")
      ->group(group);
  command
      .add_option(
          "--ui", o.ui,
          "a web page on rank 0 while it trains, at ADDRESS:PORT (without a value: any free "
          "port of 127.0.0.1)")
      ->expected(0, 1)
      ->default_str("127.0.0.1:0")
      ->group(group);
  command.add_option("--ui-keys", o.ui_keys, "file of API keys for the page, as of tandem serve")
      ->group(group);
}

training::UpdateRule rule_of(const TrainOptions& o) {
  if (o.optimizer == "sgd")
    return training::Sgd{.momentum = o.momentum, .weight_decay = o.weight_decay};
  if (o.optimizer == "rowwise_adagrad")
    return training::RowwiseAdagrad{.weight_decay = o.weight_decay,
                                    .decay = training::Decay::kDecoupled};
  return training::Adam{.beta1 = o.beta1, .beta2 = o.beta2, .weight_decay = o.weight_decay};
}

// Rules for rows have no decay and no momentum, which would change rows without a gradient.
training::UpdateRule table_rule_of(const std::string& name) {
  if (name == "sgd") return training::Sgd{};
  if (name == "row_adam") return training::RowAdam{};
  return training::RowwiseAdagrad{};
}

training::Offload offload_of(const std::string& name) {
  if (name == "host") return training::Offload::kHost;
  return name == "auto" ? training::Offload::kAuto : training::Offload::kNone;
}

training::OnNaN on_nan_of(const std::string& name) {
  if (name == "skip") return training::OnNaN::kSkip;
  return name == "back" ? training::OnNaN::kBack : training::OnNaN::kStop;
}

}  // namespace

void add_train_options(CLI::App& command, TrainOptions& options) {
  command.add_option(
      "--config", options.config,
      "TOML file with these options, without their dashes; a file to read that is not in "
      "the current folder is looked for beside it");
  add_model_options(command, options);
  add_run_options(command, options);
  add_optimizer_options(command, options);
  add_pruning_options(command, options.pruning);
  add_dynamic_options(command, options.dynamics);
  add_reduce_options(command, options);
  add_rank_options(command, options);
  add_pipeline_options(command, options.pipeline);
  add_output_options(command, options);
}

training::TrainerOptions trainer_options(const TrainOptions& o) {
  if (o.steps == 0)
    throw Error("train", "--steps is missing, or 0: say how many steps the whole run has");
  training::TrainerOptions options;
  options.out = o.out;
  options.steps = o.steps;
  options.batch = o.batch;
  options.accumulate = o.accumulate;
  options.seed = o.seed;
  options.schedule = {o.rate, o.warmup, o.steps, training::rate_decay_named(o.decay), o.last_rate};
  options.rule = rule_of(o);
  options.table_rule = table_rule_of(o.table_optimizer);
  options.table_rate = o.table_rate;
  options.offload = offload_of(o.offload);
  options.clip = o.clip;
  options.pruning = o.pruning;
  options.on_nan = on_nan_of(o.on_nan);
  options.reduce.choice = training::parse_reduce(o.reduce);
  options.reduce.scheme = o.scheme;
  options.reduce.steps = o.sparsify == "steps";
  options.reduce.dense_below = o.dense_below;
  options.reduce.warmup_steps = o.reduce_warmup;
  options.reduce.seed = o.seed;
  options.reduce.timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(o.meeting.timeout_s * 1000));
  options.log_every = o.log_every;
  options.save_every = o.save_every;
  options.evaluate_every = o.evaluate_every;
  options.keep = o.keep;
  options.save_first = o.meeting.elastic;
  options.described = described_options(o);
  return options;
}

training::OptionValues described_options(const TrainOptions& o) {
  const auto number = [](auto value) { return fmt::format("{}", value); };
  training::OptionValues values = {
      {"--batch", number(o.batch)},
      {"--accumulate", number(o.accumulate)},
      {"--context", o.context ? number(*o.context) : "by the model"},
      {"--seed", number(o.seed)},
      {"--reduce", o.reduce},
      {"--reduce-warmup", o.reduce_warmup ? number(*o.reduce_warmup) : "by density"},
      {"--scheme", o.scheme},
      {"--sparsify", o.sparsify},
      {"--dense-below", number(o.dense_below)},
      {"--optimizer", o.optimizer},
      {"--table-optimizer", o.table_optimizer},
      {"--table-rate", number(o.table_rate)},
      {"--rate", number(o.rate)},
      {"--warmup", number(o.warmup)},
      {"--decay", o.decay},
      {"--last-rate", number(o.last_rate)},
      {"--weight-decay", number(o.weight_decay)},
      {"--beta1", number(o.beta1)},
      {"--beta2", number(o.beta2)},
      {"--momentum", number(o.momentum)},
      {"--clip", number(o.clip)},
      {"--prune", number(o.pruning.share)},
      {"--prune-together", number(o.pruning.together)},
      {"--prune-from", number(o.pruning.begin)},
      {"--prune-to", number(o.pruning.end)},
      {"--prune-every", number(o.pruning.every)},
      {"--on-nan", o.on_nan},
      {"--precision", o.precision}};
  for (auto& value : described_dynamics(o.dynamics)) values.push_back(std::move(value));
  return values;
}

training::OptionValues compared_options(const TrainOptions& o) {
  const auto number = [](auto value) { return fmt::format("{}", value); };
  training::OptionValues values = described_options(o);
  values.insert(values.end(), {{"--steps", number(o.steps)},
                               {"--offload", o.offload},
                               {"--log-every", number(o.log_every)},
                               {"--save-every", number(o.save_every)},
                               {"--evaluate-every", number(o.evaluate_every)},
                               {"--keep", number(o.keep)},
                               {"--out", o.out},
                               {"--elastic", number(o.meeting.elastic)}});
  return values;
}

}  // namespace tandem::apps
