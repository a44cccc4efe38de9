// SPDX-License-Identifier: Apache-2.0
//
// The steps of a run. Every decision is taken from numbers that all ranks have gathered.
#include "training/pipeline/pipeline_trainer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "collectives/collective.h"
#include "collectives/group_state.h"
#include "common/error.h"
#include "training/pipeline/pipeline_moves.h"
#include "training/pipeline/pipeline_profile.h"
#include "training/pipeline/step_pulse.h"

namespace tandem::training {
namespace {

// Work that drifts changes its times slowly: an assumption, in looks at them and in shares of the
// rest of the run.
constexpr std::uint64_t kLooksAlike = 4, kPartOfRest = 4;

// A step that is predicted to be shorter by less may be so by the noise of its times.
constexpr double kLeastGain = 0.02;

// Numbers of all ranks, one rank's behind the other's.
std::vector<std::vector<double>> gathered(collectives::Group* group, const std::vector<double>& own,
                                          std::chrono::milliseconds timeout) {
  if (group == nullptr) return {own};
  std::vector<std::vector<double>> all;
  collectives::CallOptions options;
  options.timeout = timeout;
  for (const auto& bytes :
       collectives::allgatherv(*group, std::as_bytes(std::span(own)), options)) {
    std::vector<double> numbers(bytes.size() / sizeof(double));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    all.push_back(std::move(numbers));
  }
  return all;
}

}  // namespace

std::atomic<bool>& PipelineTrainer::stop_requested() {
  static std::atomic<bool> requested{false};
  return requested;
}

PipelineTrainer::PipelineTrainer(const TrainerOptions& options, const PipelineOptions& pipeline,
                                 PipelineParts parts)
    : options_(options),
      pipeline_(pipeline),
      parts_(std::move(parts)),
      specs_(layers_of(parts_.parameters, parts_.num_blocks)),
      pool_(options.threads),
      tools_{parts_.make, options.rule, pool_, pipeline.replicas > 1 ? &options_.reduce : nullptr},
      profile_(std::make_unique<Profile>()) {
  check_schedule(options.schedule);
  check_rule(options.rule);
  check_pruning(options.pruning);
  require_pruned(options.pruning, parts_.parameters);
}

PipelineTrainer::~PipelineTrainer() = default;

std::uint64_t PipelineTrainer::samples_of_step() const {
  return static_cast<std::uint64_t>(options_.batch) *
         static_cast<std::uint64_t>(options_.accumulate) *
         static_cast<std::uint64_t>(pipeline_.replicas);
}

void PipelineTrainer::run(collectives::Group* group) {
  split_replicas(group);
  const auto leave = [](PipelineTrainer* trainer) { trainer->leave_replicas(); };
  const std::unique_ptr<PipelineTrainer, decltype(leave)> split(this, leave);
  make_plan();
  make_layers();
  if (resumed_) {
    restore(*std::exchange(resumed_, {}));
  } else {
    fill_layers();
  }
  share_matrix();
  if (is_first() && parts_.open_logs) logs_ = parts_.open_logs(step_);
  *profile_ = Profile();
  warm_up_left_ = pipeline_.warm_up;
  while (step_ < options_.steps && !stopped_) {
    train_step();
    const std::uint64_t every = options_.evaluate_every;
    const bool is_last = step_ == options_.steps || stopped_;
    if (is_last || (every > 0 && step_ % every == 0)) evaluate_now();
    save_if_due();
    rebalance();
  }
  tell_profile();
  for (TrainingLog* log : logs_) log->end();
}

void PipelineTrainer::make_plan() {
  plan_.shape = {pipeline_.order, world(), options_.accumulate, pipeline_.chunks};
  check_shape(plan_.shape);
  StageMessages::check(plan_.shape);
  plan_.num_layers = static_cast<int>(specs_.size());
  if (plan_.num_layers < plan_.shape.stages()) {
    throw Error("train", "the model has " + std::to_string(plan_.num_layers) +
                             " layers with embedding and output, and --pipeline asks for " +
                             std::to_string(plan_.shape.stages()) +
                             " stages; take fewer ranks or stages per rank");
  }
  plan_.cuts = pipeline_.cuts;
  if (plan_.cuts.empty())
    plan_.cuts = planner::equal_counts(plan_.num_layers, plan_.shape.stages());
  const std::vector<planner::LayerCost> layers(specs_.size());
  planner::StageLoads(layers, {.num_stages = plan_.shape.stages()}).check(plan_.cuts);
  first_plan_ = plan_;
}

void PipelineTrainer::make_layers() {
  layers_.clear();
  for (int layer = 0; layer < plan_.num_layers; ++layer) {
    if (plan_.rank_of(layer) != rank()) continue;
    layers_.emplace(
        layer, std::make_unique<TrainedLayer>(specs_[static_cast<std::size_t>(layer)], tools_));
  }
}

void PipelineTrainer::fill_layers() {
  std::map<std::size_t, std::span<float>> wanted;
  for (const auto& [number, layer] : layers_) {
    const std::vector<std::size_t>& own = layer->spec().numbers;
    for (std::size_t at = 0; at < own.size(); ++at) {
      wanted.emplace(own[at], layer->parameters().values(at));
    }
  }
  parts_.fill(wanted);
}

// After every update: the output's copy of the embedding.
void PipelineTrainer::share_matrix() {
  if (!has_shared_matrix()) return;
  const int last = plan_.num_layers - 1, from = plan_.rank_of(0), to = plan_.rank_of(last);
  const auto values = [&](int layer) {
    TrainedLayer& one = *layers_.at(layer);
    return one.parameters().values(one.shared_matrix());
  };
  if (from == to) {
    if (rank() == to) std::ranges::copy(values(0), values(last).begin());
    return;
  }
  collectives::Group::State& state = group_->state();
  const auto timeout = options_.reduce.timeout;
  const std::uint64_t ticket = state.take_ticket();
  state.run("share_matrix", ticket, Deadline::after(timeout), [&](collectives::Call&) {
    const auto tag = (static_cast<std::uint32_t>(ticket) & 0xfffu) << 12;
    if (rank() == from) {
      const auto bytes = std::as_bytes(values(0));
      transport::ByteBuffer copy;
      copy.resize(bytes.size());
      std::ranges::copy(bytes, copy.begin());
      state.transport().send(to, tag, transport::Payload(std::move(copy)),
                             Deadline::after(timeout));
    }
    if (rank() != to) return;
    const auto message = state.transport().receive(from, tag, Deadline::after(timeout));
    const auto into = std::as_writable_bytes(values(last));
    TANDEM_CHECK_OP(into.size(), ==, message.size());
    std::ranges::copy(message.bytes(), into.begin());
  });
}

void PipelineTrainer::train_step() {
  const int frozen = frozen_layers(pipeline_.work.freeze, plan_.num_layers, step_, options_.steps);
  if (frozen != profile_->frozen) profile_->clear(frozen, step_);
  const StepOutcome outcome = run_passes(frozen);
  send_moving_gradients();
  const Sums sums = sum_up(outcome);
  take_moving_layers();
  samples_ += samples_of_step();
  if (!std::isfinite(sums.loss) || !std::isfinite(sums.norm)) {
    refuse_nan();
  } else {
    const auto begin = Profile::Clock::now();
    update(sums, frozen);
    profile_->update_s += Profile::seconds_since(begin);
  }
  ++step_;
  if (warm_up_left_ > 0 && --warm_up_left_ == 0) profile_->clear(frozen, step_);
  finish_moves();
  share_matrix();
  ++profile_->steps;
  stopped_ = sums.wants_stop && step_ < options_.steps;
  const bool last = step_ == options_.steps || stopped_;
  if (last || step_ % options_.log_every == 0) log_step(sums);
}

// The own passes, the sums of their gradients, and the wait until the passes of all ranks are over.
StepOutcome PipelineTrainer::run_passes(int first_trained) {
  for (const auto& [number, layer] : layers_) layer->parameters().clear_gradients();
  const auto begin = Profile::Clock::now();
  StepOutcome outcome;
  if (group_ == nullptr) {
    StepPulse alone(nullptr, 0, {});
    outcome = own_passes(first_trained, nullptr, 0, alone);
  } else {
    collectives::Group::State& state = group_->state();
    const Deadline deadline = Deadline::after(options_.reduce.timeout);
    const std::uint64_t of_pulse = state.take_ticket(), ticket = state.take_ticket();
    state.run("pulse", of_pulse, deadline, [](collectives::Call&) {});  // its numbers of messages
    state.run("pipeline", ticket, deadline, [&](collectives::Call&) {
      StepPulse pulse(&state.transport(), static_cast<std::uint32_t>(of_pulse),
                      options_.reduce.timeout);
      outcome =
          own_passes(first_trained, &state.transport(), static_cast<std::uint32_t>(ticket), pulse);
    });
  }
  profile_->passes_s += Profile::seconds_since(begin);
  profile_->waited_s += outcome.waited_seconds;
  profile_->readings += outcome.readings;
  profile_->micro_batches += static_cast<std::uint64_t>(options_.accumulate);
  for (const auto& [layer, seconds] : outcome.seconds) {
    StageSeconds& sum = profile_->layers[layer];
    sum.forward += seconds.forward;
    sum.backward += seconds.backward + seconds.weights;
    sum.weights += seconds.weights;
  }
  return outcome;
}

// A freed rank has none, and only waits.
StepOutcome PipelineTrainer::own_passes(int first_trained, transport::Transport* transport,
                                        std::uint32_t call, StepPulse& pulse) {
  StepOutcome outcome;
  const auto wait = [&] {
    const auto begin = Profile::Clock::now();
    sum_over_replicas(first_trained, pulse);
    pulse.finish();
    outcome.waited_seconds += Profile::seconds_since(begin);
  };
  if (rank() >= plan_.shape.ranks) {
    wait();
    return outcome;
  }
  StepInput input{plan_, rank(), parts_.width, first_trained};
  input.depth = current_depth();
  input.skew = current_skew();
  input.clock = pipeline_.clock;
  const double losses = static_cast<double>(samples_of_step() * parts_.losses_of_sample);
  input.scale = static_cast<float>(1.0 / losses);
  input.batch = [&](int micro) {
    const int place = replica_ * options_.accumulate + micro;
    return parts_.batch(samples_ + static_cast<std::uint64_t>(place) *
                                       static_cast<std::uint64_t>(options_.batch));
  };
  input.after_pass = [&] { pulse.beat(); };
  StageMessages messages(transport, call, plan_.shape, options_.reduce.timeout);
  outcome = run_step(input, layers_, messages);
  wait();  // first, because messages may be sent only when a later rank comes to them
  messages.finish();
  return outcome;
}

// A rank tells: its wish to stop, its losses, and a square for each of its parameters.
PipelineTrainer::Sums PipelineTrainer::sum_up(const StepOutcome& outcome) {
  std::vector<double> own = {stop_requested().load() ? 1.0 : 0.0,
                             static_cast<double>(outcome.losses.size())};
  own.insert(own.end(), outcome.losses.begin(), outcome.losses.end());
  for (const auto& [number, layer] : layers_) {
    const std::vector<double> squares = layer->squares(options_.pruning.is_on());
    for (std::size_t at = 0; at < squares.size(); ++at) {
      own.push_back(static_cast<double>(layer->spec().numbers[at]));
      own.push_back(squares[at]);
    }
  }
  Sums sums;
  sums.squares.resize(parts_.parameters.size());
  double loss = 0;
  for (const std::vector<double>& all : gathered(group_, own, options_.reduce.timeout)) {
    sums.wants_stop = sums.wants_stop || all[0] > 0;
    const auto losses = static_cast<std::size_t>(all[1]);
    for (std::size_t at = 0; at < losses; ++at) loss += all[2 + at];
    for (std::size_t at = 2 + losses; at + 1 < all.size(); at += 2) {
      sums.squares[static_cast<std::size_t>(all[at])] = all[at + 1];
    }
  }
  double all_losses = 0;  // replica by replica
  for (const std::vector<double>& one : of_replicas({loss, sums.wants_stop ? 1.0 : 0.0})) {
    all_losses += one[0];
    sums.wants_stop = sums.wants_stop || one[1] > 0;
  }
  double squares = 0;
  for (const double square : sums.squares) squares += square;
  sums.norm = std::sqrt(squares);
  sums.loss = static_cast<float>(all_losses /
                                 static_cast<double>(samples_of_step() * parts_.losses_of_sample));
  return sums;
}

// As the output matrix the embedding learns to the end.
bool PipelineTrainer::learns(int layer, int first_trained) const {
  return layer >= first_trained || (layer == 0 && has_shared_matrix());
}

void PipelineTrainer::update(const Sums& sums, int first_trained) {
  StepFactors factors;
  factors.iteration = step_ + 1;
  factors.learning_rate = rate_of(options_.schedule, step_);
  if (options_.clip > 0 && sums.norm > options_.clip) {
    factors.gradient_scale = options_.clip / sums.norm;
  }
  for (const auto& [number, layer] : layers_) {
    if (!learns(number, first_trained)) continue;
    KeptZeros zeros(options_.pruning, layer->parameters());
    layer->update(factors);
    zeros.restore(step_ + 1, options_.steps);
  }
  if (options_.pruning.together) cut_together_with_others(first_trained);
}

void PipelineTrainer::refuse_nan() {
  const std::string what =
      "the loss or the gradient of step " + std::to_string(step_ + 1) + " is not a number";
  if (options_.on_nan != OnNaN::kSkip) {
    throw Error("train", what + "; --on-nan skip leaves such steps out; or lower --rate");
  }
  if (is_first()) spdlog::warn("{}; the step changes nothing", what);
}

void PipelineTrainer::log_step(const Sums& sums) {
  if (!is_first()) return;
  StepFigures figures;
  figures.step = step_;
  figures.steps = profile_->steps;
  figures.loss = sums.loss;
  figures.gradient_norm = sums.norm;
  figures.rate = rate_of(options_.schedule, step_ - 1);
  figures.tokens = figures.steps * samples_of_step() * parts_.losses_of_sample;
  figures.seconds = Profile::seconds_since(profile_->begin);
  figures.backward_seconds = profile_->passes_s - profile_->waited_s;
  figures.reduce_seconds = profile_->waited_s;
  figures.update_seconds = profile_->update_s;
  if (all_ != nullptr) {
    const auto traffic = all_->traffic();
    figures.bytes_sent = traffic.bytes_sent() - profile_->bytes_before;
    profile_->bytes_before = traffic.bytes_sent();
    figures.peers = traffic.peers;
  }
  for (TrainingLog* log : logs_) log->step(figures);
  profile_->begin = Profile::Clock::now();
  profile_->steps = 0;
  profile_->passes_s = profile_->waited_s = profile_->update_s = 0;
}

// The next step still follows the old plan where layers move during it.
void PipelineTrainer::look_ahead(RebalanceQuestion& question) const {
  const std::uint64_t drifting =
      std::max(kLooksAlike * pipeline_.rebalance_every, (options_.steps - step_) / kPartOfRest);
  std::vector<WorkAhead> ahead =
      work_ahead(pipeline_.work, plan_.num_layers, step_ + (pipeline_.overlap ? 1 : 0),
                 options_.steps, drifting);
  question.steps = 0;
  question.least_gain = kLeastGain;
  if (ahead.empty()) return;
  question.steps = ahead.front().steps;
  question.layers = with_frozen(std::move(question.layers), ahead.front().frozen);
  ahead.erase(ahead.begin());
  question.later = std::move(ahead);
}

void PipelineTrainer::rebalance() {
  const std::uint64_t every = pipeline_.rebalance_every;
  if (every == 0 || step_ % every != 0 || step_ >= options_.steps || stopped_) return;
  if (world() == 1 || warm_up_left_ > 0) return;
  const auto begin = Profile::Clock::now();
  RebalanceQuestion question{plan_, gather_profile()};
  if (profile_->micro_batches == 0) return;
  tell_window(question.layers);
  question.repack = pipeline_.repack;
  question.most_ranks = world();
  question.rank_bytes = pipeline_.rank_bytes;
  if (profile_->bytes_per_second > 0) question.bytes_per_second = profile_->bytes_per_second;
  look_ahead(question);
  const auto found = pipeline_.choose ? pipeline_.choose(step_, question) : choose_stages(question);
  profile_->deciding_s += Profile::seconds_since(begin);
  if (found) return begin_moves(*found);
  const bool changes = pipeline_.work.drifts || pipeline_.work.follows_curves();
  if (changes) profile_->clear(profile_->frozen, step_);
}

}  // namespace tandem::training
