// SPDX-License-Identifier: Apache-2.0
//
// The steps of a run. Every decision is taken from numbers that are equal on all ranks: the mean
// loss, the mean gradient, the mean of the wishes to stop.
#include "training/trainer/trainer.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "collectives/collective.h"
#include "common/error.h"
#include "training/trainer/together.h"
#include "transport/transport_error.h"

namespace tandem::training {
namespace {

constexpr int kMostTimesBack = 3;

bool decays(const ParameterSpec& spec) { return spec.shape.size() > 1; }

UpdateRule without_decay(UpdateRule rule) {
  std::visit([](auto& each) { each.weight_decay = 0; }, rule);
  return rule;
}

std::uint64_t window_tokens(const TokenText& text, const DecoderModel& model) {
  // Without a BOS a window's first token is not predicted by the window itself.
  return model.tokenizer->bos() == model::kNoToken && text.size() > 0 ? text.size() - 1
                                                                      : text.size();
}

}  // namespace

struct Trainer::Interval {
  SteadyClock::time_point begin = SteadyClock::now();
  std::uint64_t steps = 0;

  // Runs what is not part of a step.
  template <typename Part>
  void outside(const Part& part) {
    const auto before = SteadyClock::now();
    part();
    begin += SteadyClock::now() - before;
  }
};

std::atomic<bool>& Trainer::stop_requested() {
  static std::atomic<bool> requested{false};
  return requested;
}

Trainer::Trainer(const TrainerOptions& options, const TrainerParts& parts)
    : options_(options),
      parts_(parts),
      windows_(window_tokens(parts.text, parts.model), static_cast<std::uint64_t>(options.context),
               options.seed),
      rows_(options.batch, options.context),
      pool_(options.threads),
      optimizer_(pool_) {
  check_schedule(options.schedule);
  for (std::size_t parameter = 0; parameter < parts.parameters.size(); ++parameter) {
    const ParameterSpec& spec = parts.parameters.spec(parameter);
    optimized_.push_back(
        optimizer_.add({.name = spec.name,
                        .count = parts.parameters.values(parameter).size(),
                        .rule = decays(spec) ? options.rule : without_decay(options.rule)}));
  }
}

Trainer::~Trainer() = default;

std::uint64_t Trainer::samples_of_step() const {
  return static_cast<std::uint64_t>(options_.batch) *
         static_cast<std::uint64_t>(options_.accumulate) * static_cast<std::uint64_t>(world());
}

void Trainer::resume(const Checkpoint& checkpoint) {
  restore_values(checkpoint);
  last_ = checkpoint.folder;
}

void Trainer::run(collectives::Group* group) {
  group_ = group;
  try {
    mean_ = std::make_unique<GradientMean>(group, parts_.parameters, options_.reduce);
    if (has_run_ && last_.empty()) throw Error("train", "there is no checkpoint to go on from");
    if (std::exchange(has_run_, true)) restore_values(find_checkpoint(last_));
    if (!last_.empty()) restore_reduction(find_checkpoint(last_));
    windows_.require(samples_of_step());
    open_logs();
    run_steps();
    if (wants_ranks_) mean_.reset();
  } catch (const transport::TransportError&) {
    mean_.reset();  // it holds the group, which the caller replaces
    throw;
  }
}

// Also of a run that goes on from an earlier step: lines behind it go.
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
  const double loss_here = backward();
  GradientMean::Numbers numbers = {static_cast<float>(loss_here),
                                   stop_requested().load() ? 1.0f : 0.0f,
                                   is_save_due(step_ + 1) && ranks_wait() ? 1.0f : 0.0f};
  mean_->finish(numbers);
  const double loss = numbers[0];
  samples_ += samples_of_step();
  const double norm = gradient_norm();
  if (!std::isfinite(loss) || !std::isfinite(norm)) {
    if (act_on_nan()) return;  // to an earlier step
  } else {
    update(norm);
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

// Returns the mean loss of this rank's tokens.
double Trainer::backward() {
  parts_.parameters.clear_gradients();
  const auto batch = static_cast<std::uint64_t>(options_.batch);
  const auto context = static_cast<std::uint64_t>(options_.context);
  const model::TokenId bos = parts_.model.tokenizer->bos();
  const std::uint64_t extra = bos == model::kNoToken ? 1 : 0;
  const std::uint64_t mine = samples_of_step() / static_cast<std::uint64_t>(world());
  const double tokens = static_cast<double>(mine * context);
  std::uint64_t sample = samples_ + static_cast<std::uint64_t>(rank()) * mine;
  double sum = 0;
  for (int pass = 0; pass < options_.accumulate; ++pass, sample += batch) {
    for (int row = 0; row < options_.batch; ++row) {
      const std::uint64_t begin = windows_.begin(sample + static_cast<std::uint64_t>(row));
      rows_.fill(row, parts_.text, begin, context + extra, bos);
    }
    const bool is_last = pass + 1 == options_.accumulate;
    sum += parts_.computation.backward(rows_.view(), static_cast<float>(1.0 / tokens),
                                       is_last ? mean_.get() : nullptr);
  }
  return sum / tokens;
}

double Trainer::gradient_norm() const {
  double squares = 0;
  for (std::size_t parameter = 0; parameter < parts_.parameters.size(); ++parameter) {
    for (const float value : parts_.parameters.gradient(parameter)) {
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
  }
  return std::sqrt(squares);
}

void Trainer::update(double norm) {
  StepFactors factors;
  factors.iteration = step_ + 1;
  factors.learning_rate = rate_of(options_.schedule, step_);
  if (options_.clip > 0 && norm > options_.clip) factors.gradient_scale = options_.clip / norm;
  for (std::size_t parameter = 0; parameter < optimized_.size(); ++parameter) {
    optimizer_.update(factors, {.parameter = optimized_[parameter],
                                .weights = parts_.parameters.values(parameter),
                                .gradient = parts_.parameters.gradient(parameter),
                                .copy = {}});
  }
}

// True: the run has gone back to another step.
bool Trainer::act_on_nan() {
  const std::string what =
      "the loss or the gradient of step " + std::to_string(step_ + 1) + " is not a number";
  if (options_.on_nan == OnNaN::kSkip) {
    if (rank() == 0) spdlog::warn("{}; the step changes nothing", what);
    return false;
  }
  if (options_.on_nan == OnNaN::kStop) {
    throw Error("train", what +
                             "; --on-nan skip leaves such steps out, --on-nan back goes on "
                             "from the last checkpoint; or lower --rate");
  }
  if (last_.empty()) throw Error("train", what + ", and there is no checkpoint to go back to");
  if (++times_back_ > kMostTimesBack) {
    throw Error("train", what + ", as were others since the last checkpoint; lower --rate");
  }
  if (rank() == 0) spdlog::warn("{}; back to '{}'", what, last_);
  go_back();
  return true;
}

void Trainer::go_back() {
  const std::uint64_t samples = samples_;
  const Checkpoint checkpoint = find_checkpoint(last_);
  restore_values(checkpoint);
  restore_reduction(checkpoint);
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
  figures.tokens =
      interval.steps * samples_of_step() * static_cast<std::uint64_t>(options_.context);
  figures.seconds = std::chrono::duration<double>(now - interval.begin).count();
  figures.density_sent = reduced.density_sent;
  figures.build_up = reduced.build_up;
  figures.bytes_sent = reduced.bytes_sent;
  if (rank() == 0) {
    for (TrainingLog* log : logs_) log->step(figures);
  }
  interval = {SteadyClock::now(), 0};
}

void Trainer::evaluate_now() {
  if (parts_.evaluated == nullptr) return;
  Likelihood own;
  together(group_, options_.reduce.timeout, [&] {
    own = evaluate(parts_.computation, *parts_.evaluated, rows_, parts_.model.tokenizer->bos(),
                   {rank(), world()});
    return "";
  });
  std::vector<double> sums = {own.nll, static_cast<double>(own.tokens)};
  if (world() > 1) {
    collectives::ReduceOptions sum;
    sum.timeout = options_.reduce.timeout;
    collectives::allreduce(*group_, collectives::DenseView::of(sums), sum);
  }
  if (rank() != 0 || sums[1] == 0) return;
  const EvaluationFigures figures{step_, sums[0] / sums[1], static_cast<std::uint64_t>(sums[1])};
  for (TrainingLog* log : logs_) log->evaluation(figures);
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
      spdlog::error("{}; the checkpoints before stay, and the run goes on", error.what());
    }
    return false;
  }
}

}  // namespace tandem::training
