// SPDX-License-Identifier: Apache-2.0
//
// The steps of a run. Every decision uses numbers that are equal on all ranks: the mean loss, the
// mean gradient, and the mean of the requests to stop.
#include "training/trainer/trainer.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "common/error.h"
#include "training/trainer/offload_choice.h"
#include "training/trainer/run_with_heartbeat.h"
#include "training/trainer/trainer_interval.h"
#include "transport/transport_error.h"

namespace tandem::training {
namespace {

constexpr int kMostTimesBack = 3;

}  // namespace

std::atomic<bool>& Trainer::stop_requested() {
  static std::atomic<bool> requested{false};
  return requested;
}

Trainer::Trainer(const TrainerOptions& options, const TrainerParts& parts)
    : options_(options), parts_(parts) {
  check_schedule(options.schedule);
  check_rule(options.rule);
  check_pruning(options.pruning);
  std::vector<ParameterSpec> specs;
  for (std::size_t at = 0; at < parts.parameters.size(); ++at) {
    specs.push_back(parts.parameters.spec(at));
  }
  require_pruned(options.pruning, specs);
}

Trainer::~Trainer() = default;

std::uint64_t Trainer::samples_of_step() const {
  return static_cast<std::uint64_t>(options_.batch) *
         static_cast<std::uint64_t>(options_.accumulate) * static_cast<std::uint64_t>(world());
}

void Trainer::resume(const Checkpoint& checkpoint) {
  restore_values(checkpoint);
  if (step_ > options_.steps) {
    throw Error("train", "'" + checkpoint.folder + "' is of step " + std::to_string(step_) +
                             ", and --steps " + std::to_string(options_.steps) +
                             " counts from the very first step; ask for more steps than it has");
  }
  note_choice(checkpoint);
  last_ = checkpoint.folder;
  resumed_ = checkpoint;
}

void Trainer::run(collectives::Group* group) {
  group_ = group;
  try {
    parts_.task.require(samples_of_step());
    choose_place();
    choose_reduction();
    make_updates();
    make_tables();
    restore();
    if (tables_) tables_->load();
    open_logs();
    run_steps();
    if (wants_ranks_) drop_updates();
  } catch (const transport::TransportError&) {
    drop_updates();
    throw;
  }
}

// Ranks that a loss has interrupted may have heard of different checkpoints: rank 0's counts.
void Trainer::restore() {
  const std::string newest =
      run_with_heartbeat(group_, patience(), [&] { return newest_checkpoint(); });
  const bool again = std::exchange(has_run_, true);
  if (again) last_ = newest;
  if (last_.empty()) {
    if (step_ > 0) {
      throw Error("train", "after step " + std::to_string(step_) +
                               " there is no checkpoint to continue from; save some by --out and "
                               "--save-every");
    }
    return;
  }
  const Checkpoint checkpoint = resumed_ ? *std::exchange(resumed_, {}) : find_checkpoint(last_);
  if (again) restore_values(checkpoint);
  restore_state(checkpoint);
  restore_reduction(checkpoint);
}

// One that was published while a rank was lost counts, too.
std::string Trainer::newest_checkpoint() const {
  return has_saved_ ? newest_folder(options_.out) : last_;
}

// They hold the group, which the caller replaces.
void Trainer::drop_updates() {
  tables_.reset();
  dense_.reset();
  directions_.reset();
  mean_.reset();
}

// Only if no later decision can undo the step, except one that restores all weights.
bool Trainer::updates_early() const {
  return offloaded_ && options_.clip == 0 && options_.on_nan != OnNaN::kSkip &&
         !options_.pruning.is_on();
}

void Trainer::choose_place() {
  offloaded_ = options_.offload == Offload::kHost;
  if (options_.offload != Offload::kAuto) return;
  OffloadQuestion question;
  question.parameters = parts_.parameters.num_values();
  question.rule = options_.rule;
  question.threads = options_.threads;
  question.bucket_bytes = options_.reduce.bucket_bytes;
  question.timeout = options_.reduce.timeout;
  const OffloadPrediction prediction = choose_offload(group_, question);
  offloaded_ = prediction.place == OffloadPlace::kHost;
  if (rank() == 0) {
    spdlog::info("--offload auto is {}: {}", offloaded_ ? "host" : "none", prediction.reason);
  }
}

// By parameter; empty: gradients are reduced.
std::vector<bool> Trainer::parameters_with_directions() const {
  const ReduceChoice& choice = reduce_.choice;
  if (world() == 1 || !reduce_.steps || choice.sparsifier == kDense || choice.density >= 1 ||
      !has_directions(options_.rule)) {
    return {};
  }
  std::vector<bool> chosen;
  for (std::size_t parameter = 0; parameter < parts_.parameters.size(); ++parameter) {
    chosen.push_back(is_sparsified(reduce_, parts_.parameters.spec(parameter)));
  }
  return chosen;
}

void Trainer::make_updates() {
  drop_updates();
  DenseUpdateOptions dense{options_.rule,
                           options_.threads,
                           updates_early(),
                           options_.reduce.timeout,
                           parameters_with_directions(),
                           options_.schedule.rate};
  ReduceOptions reduce = reduce_;
  reduce.steps = !dense.directions.empty();
  if (offloaded_) {
    mean_ = std::make_unique<GradientMean>(group_, parts_.parameters, reduce,
                                           [this](const MeanBucket& part) { dense_->take(part); });
    dense_ = make_offloaded_update(group_, parts_.parameters, dense);
  } else {
    mean_ = std::make_unique<GradientMean>(group_, parts_.parameters, reduce);
    dense_ = make_update_in_place(parts_.parameters, *mean_, dense);
  }
  if (!dense.directions.empty()) {
    directions_ = std::make_unique<LocalDirections>(
        parts_.parameters,
        DirectionOptions{dense.directions, options_.rule, world(), options_.clip, options_.threads,
                         options_.pruning.is_on()},
        *mean_);
  }
}

void Trainer::make_tables() {
  if (parts_.task.tables().empty()) return;
  TableUpdateOptions tables;
  tables.rule = options_.table_rule;
  tables.threads = options_.threads;
  tables.timeout = options_.reduce.timeout;
  tables.make_cards = options_.make_cards;
  tables.card_facts = options_.card_facts;
  tables.try_cards = options_.try_cards && options_.make_cards;
  tables_ = std::make_unique<TableUpdate>(group_, parts_.task, tables);
}

StepFactors Trainer::step_factors() const {
  StepFactors factors;
  factors.iteration = step_ + 1;
  factors.learning_rate = rate_of(options_.schedule, step_);
  return factors;
}

// Also for a run that continues from an earlier step: its later lines are removed.
void Trainer::open_logs() {
  if (rank() == 0 && parts_.open_logs) logs_ = parts_.open_logs(step_);
}

void Trainer::run_steps() {
  if (options_.save_first && last_.empty()) save();
  wants_ranks_ = false;
  Interval interval;
  while (step_ < options_.steps && !stopped_ && !wants_ranks_) train_step(interval);
  if (wants_ranks_) return;
  if (options_.evaluate_every == 0) evaluate_now();
  if (rank() != 0) return;
  for (TrainingLog* log : logs_) log->end();
}

void Trainer::train_step(Interval& interval) {
  GradientMean::Numbers numbers = {0.0f, stop_requested().load() ? 1.0f : 0.0f,
                                   is_save_due(step_ + 1) && ranks_wait() ? 1.0f : 0.0f, 0.0f};
  reduce_gradients(numbers, interval);
  const double loss = numbers[0];
  samples_ += samples_of_step();
  const double norm = gradient_norm(numbers);
  if (!std::isfinite(loss) || !std::isfinite(norm)) {
    if (act_on_nan()) return;  // to an earlier step
  } else {
    Interval::timed(interval.update_s, [&] { update(norm); });
  }
  ++step_;
  ++interval.steps;
  stopped_ = numbers[1] > 0 && step_ < options_.steps;
  const bool last = step_ == options_.steps || stopped_;
  if (last || step_ % options_.log_every == 0) log_step(interval, loss, norm);
  interval.outside([&] {
    const std::uint64_t every = options_.evaluate_every;
    if (every > 0 && (last || step_ % every == 0)) evaluate_now();
    wants_ranks_ = save_if_due() && numbers[2] > 0 && !last;
  });
}

bool Trainer::is_save_due(std::uint64_t step) const {
  return options_.save_every > 0 && step % options_.save_every == 0;
}

// Rank 0 looks; the others hear of it.
bool Trainer::ranks_wait() const { return rank() == 0 && parts_.ranks_wait && parts_.ranks_wait(); }

// numbers: this rank's; then their means, with the loss and the squares of directions.
void Trainer::reduce_gradients(GradientMean::Numbers& numbers, Interval& interval) {
  dense_->begin(step_factors());
  if (directions_) {
    directions_->begin(step_ + 1, rate_of(options_.schedule, step_) / options_.schedule.rate);
  }
  numbers[0] = static_cast<float>(Interval::timed(interval.backward_s, [&] { return backward(); }));
  if (directions_) {
    directions_->finish();
    numbers[3] = static_cast<float>(directions_->squares());
  }
  Interval::timed(interval.reduce_s, [&] { mean_->finish(numbers); });
}

// Returns the mean loss of this rank's samples.
double Trainer::backward() {
  parts_.parameters.clear_gradients();
  parts_.task.begin_step();
  const auto batch = static_cast<std::uint64_t>(options_.batch);
  const std::uint64_t mine = samples_of_step() / static_cast<std::uint64_t>(world());
  const double losses = static_cast<double>(mine * parts_.task.losses_of_sample());
  std::uint64_t sample = samples_ + static_cast<std::uint64_t>(rank()) * mine;
  GradientListener* listener = mean_.get();
  if (directions_) listener = directions_.get();
  double sum = 0;
  for (int pass = 0; pass < options_.accumulate; ++pass, sample += batch) {
    const bool is_last = pass + 1 == options_.accumulate;
    sum += parts_.task.backward(sample, static_cast<float>(1.0 / losses),
                                is_last ? listener : nullptr);
  }
  return sum / losses;
}

// Of the mean gradient, with the rows of all ranks. The same on all ranks. Directions: as if the
// ranks' own gradients were independent.
double Trainer::gradient_norm(const GradientMean::Numbers& numbers) {
  const double ranks = world();
  double squares = tables_ ? tables_->sum_gradients() / (ranks * ranks) : 0;
  if (directions_) return std::sqrt(squares + numbers[3] / ranks);
  for (std::size_t parameter = 0; parameter < parts_.parameters.size(); ++parameter) {
    squares +=
        gradient_squares(parts_.parameters.spec(parameter), parts_.parameters.values(parameter),
                         mean_->gradient(parameter), options_.pruning.is_on());
  }
  return std::sqrt(squares);
}

void Trainer::update(double norm) {
  StepFactors factors = step_factors();
  if (options_.clip > 0 && norm > options_.clip) factors.gradient_scale = options_.clip / norm;
  StepFactors dense = factors;
  if (directions_) dense.gradient_scale = 1;  // the ranks have clipped
  KeptZeros zeros(options_.pruning, parts_.parameters);
  dense_->apply(dense);
  zeros.restore(step_ + 1, options_.steps);
  ParameterSet* const all[] = {&parts_.parameters};
  cut_together(options_.pruning, {step_ + 1, options_.steps}, all, all, [](const auto&) {});
  if (!tables_) return;
  Schedule schedule = options_.schedule;
  schedule.rate = options_.table_rate;
  factors.learning_rate = rate_of(schedule, step_);
  factors.gradient_scale /= world();  // of the sum over ranks
  tables_->apply(factors);
}

// True: the run has gone back to another step.
bool Trainer::act_on_nan() {
  if (options_.on_nan != OnNaN::kStop) dense_->drop();
  const std::string what =
      "the loss or the gradient of step " + std::to_string(step_ + 1) + " is not a number";
  if (options_.on_nan == OnNaN::kSkip) {
    if (rank() == 0) spdlog::warn("{}; the step changes nothing", what);
    return false;
  }
  if (options_.on_nan == OnNaN::kStop) {
    throw Error("train", what +
                             "; --on-nan skip leaves such steps out, --on-nan back continues "
                             "from the last checkpoint; or lower --rate");
  }
  if (last_.empty())
    throw Error(
        "train",
        what + ", and there is no checkpoint to go back to; save some by --out and --save-every");
  if (++times_back_ > kMostTimesBack) {
    throw Error("train", what + ", as were " + std::to_string(kMostTimesBack) +
                             " others since the last checkpoint; lower --rate");
  }
  if (rank() == 0) spdlog::warn("{}; back to '{}'", what, last_);
  go_back();
  return true;
}

void Trainer::go_back() {
  const std::uint64_t samples = samples_;
  const Checkpoint checkpoint = find_checkpoint(last_);
  restore_values(checkpoint);
  restore_state(checkpoint);
  restore_reduction(checkpoint);
  if (tables_) tables_->load();
  samples_ = samples;  // other samples than those that led here
  open_logs();
}

void Trainer::log_step(Interval& interval, double loss, double norm) {
  const ReduceFigures reduced = mean_->figures();
  const auto now = SteadyClock::now();
  StepFigures figures;
  figures.step = step_;
  figures.steps = interval.steps;
  figures.loss = loss;
  figures.gradient_norm = norm;
  figures.rate = rate_of(options_.schedule, step_ - 1);
  figures.tokens = interval.steps * samples_of_step() * parts_.task.losses_of_sample();
  figures.seconds = std::chrono::duration<double>(now - interval.begin).count();
  figures.density_sent = reduced.density_sent;
  figures.build_up = reduced.build_up;
  figures.bytes_sent = reduced.bytes_sent;
  figures.backward_seconds = interval.backward_s;
  figures.reduce_seconds = interval.reduce_s;
  figures.update_seconds = interval.update_s;
  if (rank() == 0) {
    if (group_ != nullptr) figures.peers = group_->traffic().peers;
    for (TrainingLog* log : logs_) log->step(figures);
  }
  interval = {SteadyClock::now(), 0};
}

void Trainer::evaluate_now() {
  std::optional<EvaluationFigures> figures = parts_.task.evaluate(group_, patience());
  if (!figures) return;
  figures->step = step_;
  for (TrainingLog* log : logs_) log->evaluation(*figures);
}

// False: not due, or it failed in mid-run.
bool Trainer::save_if_due() {
  const bool last = step_ == options_.steps || stopped_;
  if (options_.out.empty() || !(last || is_save_due(step_))) return false;
  try {
    save();
    return true;
  } catch (const transport::TransportError&) {
    throw;
  } catch (const Error& error) {
    if (last) throw;
    if (rank() == 0) {
      spdlog::error("{}; earlier checkpoints stay, and the run continues", error.what());
    }
    return false;
  }
}

}  // namespace tandem::training
