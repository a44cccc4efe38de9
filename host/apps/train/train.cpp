// SPDX-License-Identifier: Apache-2.0
//
// `tandem train`: reads model and text, meets the other ranks, and runs the trainer.
#include <spdlog/spdlog.h>
#include <sys/sysinfo.h>
#include <xxhash.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "apps/train/command.h"
#include "apps/train/job.h"
#include "apps/train/offload_cards.h"
#include "apps/train/train_options.h"
#include "common/error.h"
#include "training/trainer/computation_library.h"
#include "transport/transport_error.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

// Beside the program's folder, in the build tree as in an installation.
std::string library_folder() {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  return (self.parent_path().parent_path() / "lib" / "tandem").string();
}

void stop_on_signal(int) { training::Trainer::request_stop(); }

// The cores that this process may use: its share of them unless the launcher has bound it.
int threads_of(const TrainOptions& options, const RankPlace& place) {
  if (options.threads > 0) return options.threads;
  const int allowed = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return allowed < get_nprocs() ? allowed : std::max(1, allowed / place.local_world);
}

// A rank with other weights or other data would spoil the mean silently.
void add_contents(TrainJob& job, training::OptionValues& compared) {
  std::uint64_t sum = 0;
  const training::ParameterSet& parameters = job.parameters();
  for (std::size_t parameter = 0; parameter < parameters.size(); ++parameter) {
    const auto values = parameters.values(parameter);
    sum = XXH64(values.data(), values.size_bytes(), sum);
  }
  for (const training::TrainedTable& table : job.task().tables()) {
    sum = XXH64(table.weights.data(), table.weights.size_bytes(), sum);
  }
  compared.emplace_back("the model's weights (checksum)", std::to_string(sum));
  compared.emplace_back("the data (checksum)", std::to_string(job.data_checksum()));
}

using Logs = std::vector<std::unique_ptr<training::TrainingLog>>;

// step: the first lines of a resumed run's table stay up to it.
std::vector<training::TrainingLog*> open_logs(const TrainOptions& options, std::uint64_t step,
                                              Logs& logs) {
  if (options.json) logs.push_back(training::make_json_log());
  logs.push_back(training::make_progress_log(options.steps));
  if (!options.out.empty()) {
    fs::create_directories(options.out);
    const std::string csv = options.out + "/log.csv";
    logs.push_back(training::make_csv_log(csv, step));
    logs.push_back(training::make_event_log(options.out));
    logs.push_back(training::make_curve_log(csv, options.out + "/loss.svg"));
  }
  std::vector<training::TrainingLog*> all;
  for (const auto& log : logs) all.push_back(log.get());
  return all;
}

// Runs to the end. With --elastic, ranks that are left after a loss go on from the last checkpoint.
void run_ranks(training::Trainer& trainer, Ranks& ranks, const TrainOptions& options) {
  for (;;) {
    try {
      return trainer.run(ranks.group());
    } catch (const transport::TransportError& error) {
      if (!options.meeting.elastic) throw;
      spdlog::warn("{}; the other ranks go on without it", transport::first_cause(error).what());
      ranks.shrink(options.meeting.timeout_s);
      if (ranks.group()->rank() == 0) spdlog::set_level(spdlog::level::info);
      spdlog::info("rank {} of {} now", ranks.group()->rank(), ranks.group()->world());
    } catch (const std::exception& error) {
      if (ranks.group() != nullptr && !ranks.group()->broken()) ranks.group()->abort(error.what());
      throw;
    }
  }
}

void check_inputs(const TrainOptions& options) {
  if (options.meeting.elastic && options.out.empty() && options.resume.empty()) {
    throw Error("train", "--elastic goes on from checkpoints; name a folder by --out");
  }
  const std::string& offload = options.offload;
  if (offload != "none" && offload != "host" && offload != "auto" && !offload.starts_with("xrt")) {
    throw Error("train",
                "--offload " + offload + ": choose none, host, auto, or cards as in xrt:0,xrt:1");
  }
}

// What the options leave open.
void complete(TrainOptions& options) {
  if (options.out.empty() && !options.resume.empty()) options.out = options.resume;
  if (options.meeting.store.empty() && !options.out.empty()) {
    options.meeting.store = options.out + "/.ranks";
  }
}

// Before the first step; also the first time that the ranks wait for each other.
void compare(const TrainOptions& options, TrainJob& job, Ranks& ranks) {
  if (ranks.group() == nullptr) return;
  training::OptionValues compared = compared_options(options);
  add_contents(job, compared);
  training::require_equal_options(*ranks.group(), compared);
}

void run(TrainOptions options) {
  const RankPlace place = find_rank_place();
  if (place.rank != 0) spdlog::set_level(spdlog::level::warn);
  check_inputs(options);
  complete(options);
  training::TrainerOptions settings = trainer_options(options);
  settings.threads = threads_of(options, place);
  OffloadCards cards(options.offload, place);
  if (!cards.empty()) {
    settings.make_cards = [&] { return cards.make(); };
    settings.card_link = [&] { return cards.link_bytes_per_s(); };
  }
  const auto& library = training::ComputationLibrary::open(library_folder());
  std::optional<training::Checkpoint> checkpoint;
  if (!options.resume.empty()) checkpoint = training::find_checkpoint(options.resume);
  const auto job =
      make_job({options, checkpoint ? &*checkpoint : nullptr, library, settings.threads});
  Logs logs;
  training::Trainer trainer(settings, {job->task(), job->parameters(), [&](std::uint64_t step) {
                                         return open_logs(options, step, logs);
                                       }});
  if (checkpoint) trainer.resume(*checkpoint);
  Ranks ranks(place, options.meeting);
  compare(options, *job, ranks);
  spdlog::info("{} parameters, {}, {} ranks of {} threads, libtorch {}",
               job->parameters().num_values(), job->size(), place.world, settings.threads,
               library.libtorch_version());
  std::signal(SIGTERM, stop_on_signal);
  std::signal(SIGINT, stop_on_signal);
  run_ranks(trainer, ranks, options);
  if (!trainer.was_stopped()) return;
  spdlog::info("stopped after step {}; --resume {} goes on", trainer.steps_done(), options.out);
}

}  // namespace

void add_train(CLI::App& app) {
  CLI::App* command = app.add_subcommand("train", "Train a model on one or more ranks");
  auto options = std::make_shared<TrainOptions>();
  // The command line comes behind what --config says.
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_train_options(*command, *options);
  add_export(*command);
  command->require_subcommand(0, 1);
  command->callback([command, options] {
    if (command->get_subcommands().empty()) run(*options);
  });
}

}  // namespace tandem::apps
