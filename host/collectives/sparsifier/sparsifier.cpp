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

std::optional<std::uint64_t> first_non_finite(std::span<const float> values, ThreadPool* threads) {
  std::vector<std::uint64_t> places(num_parts_of(values.size()), values.size());
  for_each_part(0, values.size(), threads,
                [&](std::uint64_t begin, std::uint64_t end, std::size_t part) {
                  const auto at = find_non_finite(values.data() + begin, end - begin);
                  if (at < end - begin) places[part] = begin + at;
                });
  const auto first = std::min_element(places.begin(), places.end());
  if (first == places.end() || *first == values.size()) return std::nullopt;
  return *first;
}

std::vector<float> clipped(std::span<const float> gradient) {
  float largest = 0;
  for (const float value : gradient) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  std::vector<float> values(gradient.begin(), gradient.end());
  for (float& value : values) {
    if (std::isnan(value)) value = 0;
    value = std::clamp(value, -largest, largest);
  }
  return values;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
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

void exchange_everything(StepContext& context, SparsifierAlgorithm& algorithm,
                         const ReduceOptions& options) {
  Indices all(algorithm.residual().size());
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  reduce_agreed(context, algorithm.residual(), all, options);
  algorithm.clear_all(context.remainder);
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

Sparsifier::Sparsifier(std::string name, std::uint64_t num_values, const SparsifierOptions& options,
                       std::unique_ptr<SparsifierAlgorithm> algorithm)
    : name_(std::move(name)),
      num_values_(num_values),
      options_(options),
      algorithm_(std::move(algorithm)) {}

Sparsifier::~Sparsifier() = default;

ClearingRule Sparsifier::clearing_rule() const { return algorithm_->clearing_rule(); }

std::span<const float> Sparsifier::residual() const { return algorithm_->residual(); }

double Sparsifier::residual_norm() const {
  double squares = 0;
  for (const float value : residual()) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

StepResult Sparsifier::step(Group& group, std::span<const float> gradient) {
  StepPlan plan = plan_of(name_, step_, num_values_, options_);
  if (gradient.size() != num_values_) {
    plan.error = "the gradient has " + std::to_string(gradient.size()) + " values; the " + name_ +
                 " sparsifier is for " + std::to_string(num_values_);
  } else {
    plan.non_finite = first_non_finite(gradient, options_.threads);
  }
  StepResult result;
  std::vector<float> usable;
  if (const auto bad = agree_on_step(group, plan, options_.reduce)) {
    if (options_.non_finite == NonFinite::kStop) {
      throw Error("sparsifier", "step " + std::to_string(step_) + ": value " +
                                    std::to_string(bad->place) + " of the gradient of rank " +
                                    std::to_string(bad->rank) +
                                    " is NaN or infinite; lower the learning rate, or choose to "
                                    "skip such steps or to clip them");
    }
    if (options_.non_finite == NonFinite::kSkip) {
      result.skipped = true;
      result.mean = make_sparse(num_values_, {}, {});
      ++step_;
      return result;
    }
    usable = clipped(gradient);
    gradient = usable;
  }
  const std::uint64_t step = step_++;
  {
    std::unique_lock<std::mutex> turn;
    if (options_.turn != nullptr) turn = std::unique_lock(*options_.turn);
    const auto begin = WallClock::now();
    algorithm_->accumulate(gradient, step, group.world());
    result.accumulate_seconds = seconds_since(begin);
  }
  result.mean = make_sparse(num_values_, {}, {});
  result.local = !algorithm_->exchanges(step);
  StepContext context{group, step, result};
  const double density = algorithm_->density(step);
  if (result.local || density == 0) return result;
  if (density == 1) {
    exchange_everything(context, *algorithm_, options_.reduce);
  } else {
    algorithm_->reduce(context);
  }
  return result;
}

SparsifierState Sparsifier::state() const {
  SparsifierState state;
  state.name = name_;
  state.num_values = num_values_;
  state.step = step_;
  algorithm_->save(state);
  return state;
}

void Sparsifier::restore(const SparsifierState& state) {
  if (state.name != name_ || state.num_values != num_values_) {
    throw Error("sparsifier", "the state is of " + state.name + " with " +
                                  std::to_string(state.num_values) + " values; this is " + name_ +
                                  " with " + std::to_string(num_values_));
  }
  algorithm_->load(state);
  step_ = state.step;
}

}  // namespace tandem::collectives
