// SPDX-License-Identifier: Apache-2.0
//
// A step: check the own gradient, agree, accumulate, then leave the rest to the algorithm.
#include "collectives/sparsifier/sparsifier.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "collectives/sparsifier/algorithm.h"
#include "collectives/sparsifier/exchange.h"
#include "collectives/sparsifier/step_agreement.h"

namespace tandem::collectives {
namespace {

using WallClock = std::chrono::steady_clock;

double seconds_since(WallClock::time_point begin) {
  return std::chrono::duration<double>(WallClock::now() - begin).count();
}

StepPlan plan_of(std::string_view name, std::uint64_t step, std::uint64_t num_values,
                 const SparsifierOptions& options) {
  StepPlan plan;
  std::string layers;
  for (const std::uint64_t size : options.layer_sizes) layers += std::to_string(size) + ' ';
  plan.fields = {{"the sparsifier", std::string(name)},
                 {"the number of values", std::to_string(num_values)},
                 {"the step", std::to_string(step)},
                 {"density", number_text(options.density)},
                 {"seed", std::to_string(options.seed)},
                 {"non_finite", std::to_string(static_cast<int>(options.non_finite))},
                 {"only_own_entries", std::to_string(options.only_own_entries)},
                 {"hard_threshold", number_text(options.hard_threshold)},
                 {"momentum", number_text(options.momentum)},
                 {"clip_norm", number_text(options.clip_norm)},
                 {"steps_per_epoch", std::to_string(options.steps_per_epoch)},
                 {"sidco_fit", std::to_string(static_cast<int>(options.sidco_fit))},
                 {"published_control", std::to_string(options.published_control)},
                 {"layer_sizes", layers},
                 {"threshold_steps", std::to_string(options.threshold_steps)},
                 {"local_steps", std::to_string(options.local_steps)},
                 {"decay", number_text(options.decay)},
                 {"wire", std::string(dtype_name(options.reduce.wire.value_or(DType::kF32)))}};
  return plan;
}

std::uint64_t count_of(GradientPieces gradient) {
  std::uint64_t count = 0;
  for (const device::GradientView& piece : gradient) {
    count += piece.values.size() / dtype_block_bytes(piece.type);
  }
  return count;
}

}  // namespace

std::string_view clearing_rule_name(ClearingRule rule) {
  switch (rule) {
    case ClearingRule::kOwn:
      return "own";
    case ClearingRule::kAllGlobal:
      return "all-global";
    case ClearingRule::kLocalAndGlobal:
      break;
  }
  return "local-and-global";
}

Sparsifier::Sparsifier(std::string name, const SparsifierOptions& options,
                       std::unique_ptr<ResidualStore> store,
                       std::unique_ptr<SparsifierAlgorithm> algorithm)
    : name_(std::move(name)),
      options_(options),
      store_(std::move(store)),
      algorithm_(std::move(algorithm)) {}

Sparsifier::~Sparsifier() = default;

ClearingRule Sparsifier::clearing_rule() const { return algorithm_->clearing_rule(); }

std::uint64_t Sparsifier::num_values() const { return store_->size(); }

double Sparsifier::residual_norm() const { return std::sqrt(store_->sum_of_squares()); }

std::optional<NonFinitePlace> Sparsifier::agree(Group& group, GradientPieces gradient) {
  if (!options_.agreed) return agree_on_step(group, plan_for(gradient), options_.reduce);
  if (const std::string problem = size_problem(gradient); !problem.empty()) {
    throw Error("sparsifier", problem);
  }
  return {};
}

StepPlan Sparsifier::plan_for(GradientPieces gradient) {
  StepPlan plan = plan_of(name_, step_, num_values(), options_);
  plan.error = size_problem(gradient);
  if (!plan.error.empty()) return plan;
  try {
    plan.non_finite = store_->first_non_finite(gradient);
  } catch (const Error& error) {
    plan.error = error.what();
  }
  return plan;
}

std::string Sparsifier::size_problem(GradientPieces gradient) const {
  const std::uint64_t count = count_of(gradient);
  if (count == num_values()) return {};
  return "the gradient has " + std::to_string(count) + " values; the " + name_ +
         " sparsifier is for " + std::to_string(num_values());
}

void Sparsifier::exchange_everything(StepContext& context) {
  Indices all(num_values());
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  reduce_agreed(context, *store_, all, options_.reduce);
  keep_remainder(*store_, all, context.remainder);
}

StepResult Sparsifier::step(Group& group, std::span<const float> gradient) {
  const device::GradientView view{std::as_bytes(gradient), DType::kF32, {}};
  return step(group, GradientPieces(&view, 1));
}

StepResult Sparsifier::step(Group& group, GradientPieces gradient) {
  StepResult result;
  result.mean = make_sparse(num_values(), {}, {});
  device::AccumulateStep add;
  if (const auto bad = agree(group, gradient)) {
    if (options_.non_finite == NonFinite::kStop) throw stop_at(*bad, step_);
    if (options_.non_finite == NonFinite::kSkip) {
      result.skipped = true;
      ++step_;
      return result;
    }
    add.clip_at = store_->size_of(gradient).largest;
  }
  const std::uint64_t step = step_++;
  {
    std::unique_lock<std::mutex> turn;
    if (options_.turn != nullptr) turn = std::unique_lock(*options_.turn);
    const auto begin = WallClock::now();
    algorithm_->accumulate(gradient, add, step, group.world());
    result.accumulate_seconds = seconds_since(begin);
  }
  result.local = !algorithm_->exchanges(step);
  StepContext context{group, step, result};
  const double density = algorithm_->density(step);
  if (result.local || density == 0) return result;
  if (density == 1) {
    exchange_everything(context);
  } else {
    algorithm_->reduce(context);
  }
  return result;
}

SparsifierState Sparsifier::state() const {
  SparsifierState state;
  state.name = name_;
  state.num_values = num_values();
  state.step = step_;
  store_->save(state);
  algorithm_->save(state);
  return state;
}

void Sparsifier::restore(const SparsifierState& state) {
  if (state.name != name_ || state.num_values != num_values()) {
    throw Error("sparsifier", "the state is of " + state.name + " with " +
                                  std::to_string(state.num_values) + " values; this is " + name_ +
                                  " with " + std::to_string(num_values()));
  }
  SparsifierState before;
  algorithm_->save(before);
  algorithm_->load(state);
  try {
    store_->load(state);
  } catch (...) {
    algorithm_->load(before);
    throw;
  }
  step_ = state.step;
}

}  // namespace tandem::collectives
