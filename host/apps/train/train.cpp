// SPDX-License-Identifier: Apache-2.0
//
// `tandem train`: reads model and text, meets the other ranks, and runs the trainer.
#include <spdlog/spdlog.h>
#include <sys/sysinfo.h>
#include <xxhash.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "apps/train/command.h"
#include "apps/train/job.h"
#include "apps/train/offload_cards.h"
#include "apps/train/out_folder.h"
#include "apps/train/pipeline_run.h"
#include "apps/train/train_options.h"
#include "apps/train/train_page.h"
#include "apps/train/train_parts.h"
#include "common/error.h"
#include "training/trainer/computation_library.h"
#include "transport/transport_error.h"

namespace tandem::apps {

namespace fs = std::filesystem;

std::string library_folder() {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  return (self.parent_path().parent_path() / "lib" / "tandem").string();
}

int threads_of(const TrainOptions& options, const RankPlace& place) {
  if (options.threads > 0) return options.threads;
  const int allowed = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return allowed < get_nprocs() ? allowed : std::max(1, allowed / place.local_world);
}

namespace {

void stop_on_signal(int) { training::Trainer::request_stop(); }

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
  compared.emplace_back("the data of --valid (checksum)", std::to_string(job.valid_checksum()));
}

// This rank may have become rank 0: where it cannot listen, the run goes on.
void show_page(TrainPage& page) {
  try {
    page.open();
  } catch (const Error& error) {
    spdlog::error("{}; the run continues without its page", error.what());
  }
}

}  // namespace

std::vector<training::TrainingLog*> open_logs(const TrainOptions& options, std::uint64_t step,
                                              TrainPage& page, Logs& logs) {
  logs.clear();
  if (page.is_asked_for()) {
    show_page(page);
    logs.push_back(page.make_log(step));
  }
  if (options.json) logs.push_back(training::make_json_log());
  logs.push_back(training::make_progress_log(options.steps));
  if (!options.out.empty()) {
    const std::string csv = options.out + "/log.csv";
    const auto add = [&](const training::OpenLog& open) {
      logs.push_back(training::make_expendable(open));
    };
    add([&] { return training::make_csv_log(csv, step); });
    add([&] { return training::make_event_log(options.out); });
    add([&] { return training::make_curve_log(csv, options.out + "/loss.svg"); });
  }
  std::vector<training::TrainingLog*> all;
  for (const auto& log : logs) all.push_back(log.get());
  return all;
}

namespace {

using Compare = std::function<void(collectives::Group&)>;

void go_on_without(Ranks& ranks, const transport::TransportError& error) {
  spdlog::warn("{}", transport::first_cause(error).what());
  const std::vector<int> lost = ranks.shrink();
  if (ranks.group()->rank() != 0) return;
  const int world = ranks.group()->world();
  spdlog::set_level(spdlog::level::info);
  spdlog::warn("without {}: {} of {} go on from the last checkpoint", list_of(lost), world,
               static_cast<std::size_t>(world) + lost.size());
}

void take_in(Ranks& ranks, const Compare& compare) {
  if (!ranks.grow(compare)) return;
  if (ranks.group()->rank() == 0) spdlog::info("{} ranks from here on", ranks.group()->world());
}

// Runs to the end. With --elastic, ranks that are left after a loss go on from the last checkpoint,
// and new ranks join at one.
void run_ranks(training::Trainer& trainer, Ranks& ranks, bool elastic, const Compare& compare) {
  for (;;) {
    try {
      trainer.run(ranks.group());
      if (!trainer.wants_ranks()) return;
      take_in(ranks, compare);
    } catch (const transport::TransportError& error) {
      if (!elastic) throw ranks.with_lost_ranks(error);
      go_on_without(ranks, error);
    } catch (const std::exception& error) {
      ranks.abort(error.what());
      throw;
    }
  }
}

void check_inputs(const TrainOptions& options) {
  const MeetingOptions& meeting = options.meeting;
  if (meeting.join && options.out.empty() && options.resume.empty()) {
    throw Error("train", "--join takes part in a run that is under way; name its folder by --out");
  }
  if (meeting.elastic && meeting.transport == "mpi") {
    throw Error("train",
                "--elastic needs --transport gloo, not mpi, which does not outlive a rank");
  }
  if (meeting.elastic && options.out.empty() && options.resume.empty()) {
    throw Error("train", "--elastic continues from checkpoints; name a folder by --out");
  }
  if (options.on_nan == "back" && options.out.empty() && options.resume.empty()) {
    throw Error("train",
                "--on-nan back goes back to checkpoints; name a folder by --out, and --save-every");
  }
  const std::string& offload = options.offload;
  if (offload != "none" && offload != "host" && offload != "auto" && !offload.starts_with("xrt")) {
    throw Error("train",
                "--offload " + offload + ": choose none, host, auto, or cards as in xrt:0,xrt:1");
  }
}

// Completes options that were not given, and the places of files.
void complete(TrainOptions& options) {
  const fs::path beside = fs::path(options.config).parent_path();
  for (std::string* file : {&options.text, &options.data, &options.valid, &options.model_config,
                            &options.from, &options.tokenizer}) {
    if (options.config.empty() || file->empty() || fs::exists(*file)) continue;
    if (fs::exists(beside / *file)) *file = (beside / *file).string();
  }
  if (options.out.empty() && !options.resume.empty()) options.out = options.resume;
  if (options.meeting.join) options.resume = options.out;
  options.meeting.elastic = options.meeting.elastic || options.meeting.join;
  if (options.meeting.store.empty() && !options.out.empty()) {
    options.meeting.store = options.out + "/.ranks";
  }
}

// Before the first step; also the first time that the ranks wait for each other.
Compare comparison(const TrainOptions& options, const training::Trainer& trainer, TrainJob& job) {
  return [&](collectives::Group& group) {
    training::OptionValues compared = compared_options(options);
    compared.emplace_back("the steps that are done", std::to_string(trainer.steps_done()));
    add_contents(job, compared);
    training::require_equal_options(group, compared);
  };
}

// Logs which process this is.
RankPlace place_of(const TrainOptions& options) {
  if (options.meeting.join) return {};
  const RankPlace place = find_rank_place();
  if (place.rank != 0) spdlog::set_level(spdlog::level::warn);
  if (place.rank == 0 && options.meeting.elastic && !outlives_ranks(place)) {
    spdlog::warn("mpirun ends all ranks when one dies, unless it is given --enable-recovery");
  }
  return place;
}

std::unique_ptr<Ranks> meet(const TrainOptions& options, const RankPlace& place) {
  if (options.meeting.join) spdlog::info("waits for the run's next checkpoint");
  auto ranks = std::make_unique<Ranks>(place, options.meeting);
  if (!options.meeting.join) return ranks;
  spdlog::info("rank {} of {}", ranks->group()->rank(), ranks->group()->world());
  spdlog::set_level(spdlog::level::warn);
  return ranks;
}

// Before the first step.
void compare_first(const TrainOptions& options, training::Trainer& trainer, Ranks& ranks,
                   const Compare& compare) {
  if (options.meeting.join) trainer.resume(training::find_checkpoint(options.out));
  if (ranks.group() == nullptr) return;
  try {
    compare(*ranks.group());
    if (options.meeting.join) ranks.confirm();
  } catch (const transport::TransportError& error) {
    throw ranks.with_lost_ranks(error);
  }
}

void train(const TrainOptions& options, training::Trainer& trainer, Ranks& ranks,
           const Compare& compare) {
  compare_first(options, trainer, ranks, compare);
  std::signal(SIGTERM, stop_on_signal);
  std::signal(SIGINT, stop_on_signal);
  run_ranks(trainer, ranks, options.meeting.elastic, compare);
}

}  // namespace

void note_unsaved(const TrainOptions& options) {
  if (options.out.empty()) spdlog::info("nothing will be saved, as there is no --out");
}

void note_results(const TrainOptions& options, bool exportable, std::uint64_t steps_done,
                  bool was_stopped) {
  if (was_stopped) {
    spdlog::info("stopped after step {}; {}", steps_done,
                 options.out.empty() ? "nothing was saved, as there is no --out"
                                     : "--resume " + options.out + " continues the run");
  } else if (!options.out.empty()) {
    spdlog::info("the newest checkpoint is {}", training::newest_folder(options.out));
    if (!exportable) return;
    spdlog::info("tandem train export {} model.gguf writes a file for tandem serve", options.out);
  }
}

void warn_of_resume(const TrainOptions& options, const training::Checkpoint& checkpoint,
                    const training::OptionValues& described, bool is_first) {
  if (checkpoint.fields.value("step", std::uint64_t{0}) == options.steps) {
    spdlog::info("step {} of {} is already done; a larger --steps continues the run", options.steps,
                 options.steps);
  }
  training::OptionValues before;
  const auto saved = checkpoint.fields.value("options", nlohmann::json::object());
  for (const auto& [name, value] : saved.items()) {
    before.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  const std::string changed = training::changes(before, described);
  if (changed.empty() || !is_first) return;
  spdlog::warn("the run continues with other options, so its results will differ: {}", changed);
}

namespace {

void run(TrainOptions options) {
  check_inputs(options);
  complete(options);
  if (options.pipeline.ranks > 0) {
    check_pipeline_options(options);
    return run_pipeline(options);
  }
  refuse_without_pipeline(options);
  const RankPlace place = place_of(options);
  training::TrainerOptions settings = trainer_options(options);
  settings.threads = threads_of(options, place);
  OffloadCards cards(options.offload, place);
  settings.try_cards = options.offload == "auto";
  if (cards.are_asked_for()) {
    settings.make_cards = [&] { return cards.make(); };
    settings.card_facts = [&] { return cards.facts(); };
  }
  const std::function<const training::ComputationLibrary&()> library =
      []() -> const training::ComputationLibrary& {
    return training::ComputationLibrary::open(library_folder());
  };
  if (options.meeting.join) library();  // the run will soon remove the checkpoint that is read next
  std::optional<training::Checkpoint> checkpoint;
  if (!options.resume.empty()) checkpoint = training::find_checkpoint(options.resume);
  const OutFolder out(options.out, checkpoint ? &*checkpoint : nullptr,
                      place.rank == 0 && !options.meeting.elastic);
  const JobSource source{options, checkpoint ? &*checkpoint : nullptr, library, settings.threads};
  const auto job = make_job(source);
  TrainPage page({options.ui, options.ui_keys,
                  options.out.empty() ? "a model" : fs::path(options.out).filename().string(),
                  options.steps});
  if (page.is_asked_for() && place.rank == 0 && !options.meeting.join) page.open();
  Logs logs;
  std::unique_ptr<Ranks> ranks;
  training::Trainer trainer(
      settings, {job->task(), job->parameters(),
                 [&](std::uint64_t step) { return open_logs(options, step, page, logs); },
                 [&] { return ranks->ranks_wait(); }, [&] { ranks->send_heartbeat(); }});
  if (checkpoint) {
    trainer.resume(*checkpoint);
    warn_of_resume(options, *checkpoint, settings.described, place.rank == 0);
  }
  note_unsaved(options);
  ranks = meet(options, place);
  spdlog::info("{} parameters, {}, {} ranks of {} threads, libtorch {}",
               job->parameters().num_values(), job->size(), place.world, settings.threads,
               library().libtorch_version());
  train(options, trainer, *ranks, comparison(options, trainer, *job));
  note_results(options, kind_of(source) == "llama", trainer.steps_done(), trainer.was_stopped());
}

}  // namespace

void add_train(CLI::App& app) {
  CLI::App* command = app.add_subcommand("train", "Train a model on one or more ranks");
  auto options = std::make_shared<TrainOptions>();
  // The command line follows the options of --config.
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  command->option_defaults()->always_capture_default();
  add_train_options(*command, *options);
  add_export(*command);
  command->require_subcommand(0, 1);
  command->callback([command, options] {
    if (command->get_subcommands().empty()) run(*options);
  });
}

}  // namespace tandem::apps
