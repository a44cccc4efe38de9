// SPDX-License-Identifier: Apache-2.0
//
// What --reduce auto does, decided by steps that are taken and undone before the first one
// (declared in trainer.h).
//
// Both kinds are measured as they would run: dense with the optimizer's own update, sparse with
// directions. So neither leaves a trace in the other, and the run has the bits of one that was
// started with the choice by name. Rows of tables cost both the same and are left out.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <span>
#include <utility>

#include "collectives/collective.h"
#include "common/median.h"
#include "training/reducer/options.h"
#include "training/trainer/run_with_heartbeat.h"
#include "training/trainer/trainer.h"
#include "training/trainer/trainer_interval.h"

namespace tandem::training {
namespace {

using Seconds = std::array<double, 2>;  // times of a step: dense, sparse

// Restores the weights, even if a rank is lost. end_updates: ends work that still writes to them.
class KeptWeights {
 public:
  KeptWeights(ParameterSet& parameters, std::function<void()> end_updates)
      : parameters_(parameters), end_updates_(std::move(end_updates)) {
    for (std::size_t parameter = 0; parameter < parameters.size(); ++parameter) {
      const auto values = parameters.values(parameter);
      kept_.emplace_back(values.begin(), values.end());
    }
  }
  ~KeptWeights() {
    end_updates_();
    for (std::size_t parameter = 0; parameter < kept_.size(); ++parameter) {
      std::ranges::copy(kept_[parameter], parameters_.values(parameter).begin());
    }
  }
  KeptWeights(const KeptWeights&) = delete;
  KeptWeights& operator=(const KeptWeights&) = delete;

 private:
  ParameterSet& parameters_;
  const std::function<void()> end_updates_;
  std::vector<std::vector<float>> kept_;
};

// Of the slowest rank, each.
Seconds slowest(collectives::Group& group, const Seconds& own, std::chrono::milliseconds timeout) {
  collectives::CallOptions options;
  options.timeout = timeout;
  Seconds all{};
  for (const auto& bytes : allgatherv(group, std::as_bytes(std::span(own)), options)) {
    Seconds theirs{};
    std::memcpy(theirs.data(), bytes.data(), std::min(sizeof(theirs), bytes.size()));
    for (std::size_t kind = 0; kind < all.size(); ++kind) {
      all[kind] = std::max(all[kind], theirs[kind]);
    }
  }
  return all;
}

}  // namespace

// Appends the seconds of the measured steps.
void Trainer::try_steps(const ReduceChoice& choice, std::vector<double>& seconds) {
  reduce_.choice = choice;
  make_updates();
  Interval interval;
  for (int step = 0; step < ReduceTrial::kUnmeasured + ReduceTrial::kMeasured; ++step) {
    const Clock::TimePoint begin = options_.clock->now();
    GradientMean::Numbers numbers{};
    reduce_gradients(numbers, interval);
    update(gradient_norm(numbers));
    const Clock::TimePoint end = options_.clock->now();
    if (step < ReduceTrial::kUnmeasured) continue;
    seconds.push_back(std::chrono::duration<double>(end - begin).count());
  }
}

void Trainer::choose_reduction() {
  reduce_ = options_.reduce;
  if (reduce_.choice.sparsifier != kAuto) return;
  const std::string known = run_with_heartbeat(group_, patience(), [&] {
    return chosen_ && chosen_world_ == world() ? to_string(*chosen_) : "";
  });
  if (!known.empty() || world() == 1) {
    reduce_.choice = parse_reduce(known.empty() ? kDense.data() : known);
    return;
  }
  const ReduceChoice sparse{std::string(kSparse), options_.reduce.choice.density};
  std::array<std::vector<double>, 2> seconds;
  {
    const KeptWeights kept(parts_.parameters, [this] { drop_updates(); });
    reduce_.warmup_steps = 0;
    for (int round = 0; round < ReduceTrial::kRounds; ++round) {
      try_steps({}, seconds[0]);
      try_steps(sparse, seconds[1]);
    }
  }
  const Seconds all =
      slowest(*group_, {median(seconds[0]), median(seconds[1])}, options_.reduce.timeout);
  reduce_ = options_.reduce;
  reduce_.choice = all[1] <= ReduceTrial::kGain * all[0] ? sparse : ReduceChoice{};
  chosen_ = reduce_.choice;
  chosen_world_ = world();
  if (rank() != 0) return;
  spdlog::info("--reduce auto is {}: a step takes {:.3g} ms dense and {:.3g} ms sparse",
               to_string(reduce_.choice), 1e3 * all[0], 1e3 * all[1]);
}

}  // namespace tandem::training
