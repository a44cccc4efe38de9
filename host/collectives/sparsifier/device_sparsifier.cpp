// SPDX-License-Identifier: Apache-2.0
//
// A step: check on the device, agree, accumulate there, then the algorithm's selection and
// exchange.
#include "collectives/sparsifier/device_sparsifier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "collectives/sparsifier/narrow_exchange.h"
#include "collectives/sparsifier/step_agreement.h"

namespace tandem::collectives {
namespace {

using device::SelectedEntries;

struct NamedRule {
  const char* name;
  DeviceSparsifier::Rule rule;
};
constexpr std::array kDeviceRules = {
    NamedRule{"topk", DeviceSparsifier::Rule::kTopK},
    NamedRule{"hard_threshold", DeviceSparsifier::Rule::kHardThreshold},
    NamedRule{"micro", DeviceSparsifier::Rule::kMicro},
};

Indices places_of(const SelectedEntries& entries) {
  return {entries.indices.begin(), entries.indices.end()};
}

StepPlan device_plan_of(const std::string& name, std::uint64_t step, std::uint64_t num_values,
                        const SparsifierOptions& options) {
  const auto text = [](double value) {
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%.17g", value);
    return std::string(digits);
  };
  StepPlan plan;
  plan.fields = {{"the sparsifier", name + " on a device"},
                 {"the number of values", std::to_string(num_values)},
                 {"the step", std::to_string(step)},
                 {"density", text(options.density)},
                 {"non_finite", std::to_string(static_cast<int>(options.non_finite))},
                 {"only_own_entries", std::to_string(options.only_own_entries)},
                 {"hard_threshold", text(options.hard_threshold)},
                 {"published_control", std::to_string(options.published_control)}};
  return plan;
}

// Adds the time of a selection to the result.
template <typename Select>
SelectedEntries timed(StepContext& context, Select&& select) {
  const auto begin = std::chrono::steady_clock::now();
  const SelectedEntries entries = select();
  context.result.select_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return entries;
}

}  // namespace

DeviceSparsifier::DeviceSparsifier(std::string name, Rule rule,
                                   std::unique_ptr<device::SelectionUnit> unit,
                                   const SparsifierOptions& options)
    : name_(std::move(name)),
      rule_(rule),
      unit_(std::move(unit)),
      options_(options),
      control_(options.published_control) {}

ClearingRule DeviceSparsifier::clearing_rule() const {
  const bool own =
      rule_ == Rule::kHardThreshold || (rule_ == Rule::kTopK && options_.only_own_entries);
  return own ? ClearingRule::kOwn : ClearingRule::kAllGlobal;
}

std::uint64_t DeviceSparsifier::target() const {
  const double exact = options_.density * static_cast<double>(num_values());
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(exact)));
}

StepResult DeviceSparsifier::step(Group& group, const device::GradientView& gradient) {
  StepPlan plan = device_plan_of(name_, step_, num_values(), options_);
  device::GradientMoments moments;
  try {
    moments = unit_->measure(gradient, deadline());
    plan.non_finite = moments.first_non_finite;
  } catch (const Error& error) {
    plan.error = error.what();
  }
  StepResult result;
  result.mean = make_sparse(num_values(), {}, {});
  device::AccumulateStep add;
  if (const auto bad = agree_on_step(group, plan, options_.reduce)) {
    if (options_.non_finite == NonFinite::kStop) {
      throw Error("sparsifier", "step " + std::to_string(step_) + ": value " +
                                    std::to_string(bad->place) + " of the gradient of rank " +
                                    std::to_string(bad->rank) +
                                    " is NaN or infinite; lower the learning rate, or choose to "
                                    "skip such steps or to clip them");
    }
    result.skipped = options_.non_finite == NonFinite::kSkip;
    add.clip_at = moments.largest;
  }
  StepContext context{group, step_++, result};
  if (result.skipped) return result;
  const auto begin = std::chrono::steady_clock::now();
  unit_->accumulate(gradient, add, deadline());
  result.accumulate_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (options_.density == 1) {
    exchange_everything(context);
  } else if (options_.density > 0) {
    reduce(context);
  }
  return result;
}

void DeviceSparsifier::reduce(StepContext& context) {
  switch (rule_) {
    case Rule::kTopK:
      return reduce_top(context);
    case Rule::kHardThreshold:
      return reduce_large(context);
    case Rule::kMicro:
      return reduce_partition(context);
  }
}

void DeviceSparsifier::reduce_top(StepContext& context) {
  const SelectedEntries own = timed(context, [&] {
    return unit_->top({0, num_values()}, target(), deadline());
  });
  if (options_.only_own_entries) {
    send_own(context, own);
  } else {
    send_union(context, places_of(own), Selectors::kEveryRankAll);
  }
}

void DeviceSparsifier::reduce_large(StepContext& context) {
  const double published = 0.5 / std::sqrt(static_cast<double>(target()));
  const auto threshold =
      static_cast<float>(options_.hard_threshold > 0 ? options_.hard_threshold : published);
  send_own(context, timed(context, [&] {
             return unit_->at_least({0, num_values()}, threshold, deadline());
           }));
}

void DeviceSparsifier::reduce_partition(StepContext& context) {
  const std::uint64_t k = target();
  if (!control_.seeded()) {
    const SelectedEntries top = timed(context, [&] {
      return unit_->top({0, num_values()}, k, deadline());
    });
    float least = top.values.empty() ? 0.0f : std::numeric_limits<float>::infinity();
    for (const float value : top.values) least = std::min(least, std::fabs(value));
    control_.seed(context, least, options_.reduce);
  }
  const bool seeded = control_.seeded();
  const auto n = static_cast<std::uint64_t>(context.group.world());
  const std::uint64_t part =
      (context.step % n + static_cast<std::uint64_t>(context.group.rank())) % n;
  const device::SelectionRange range{num_values() * part / n, num_values() * (part + 1) / n};
  SelectedEntries own;
  if (seeded) {
    own = timed(context, [&] { return unit_->at_least(range, control_.threshold(), deadline()); });
    const float steep = control_.steep_threshold();
    context.note = static_cast<std::uint32_t>(
        std::ranges::count_if(own.values, [&](float value) { return std::fabs(value) >= steep; }));
  }
  if (own.indices.empty() && range.begin < range.end) {
    own = timed(context, [&] { return unit_->top(range, 1, deadline()); });
  }
  send_union(context, places_of(own), Selectors::kExclusive);
  if (seeded) control_.follow(context.result.selected_total, sum_of(context.notes), k);
}

void DeviceSparsifier::exchange_everything(StepContext& context) {
  Indices all(num_values());
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  reduce_agreed(context, {*unit_, deadline()}, all, options_.reduce);
  unit_->clear_at(all, deadline());
}

void DeviceSparsifier::send_union(StepContext& context, const Indices& own, Selectors selectors) {
  const Indices all = reduce_union(context, {*unit_, deadline()}, own, selectors, options_.reduce);
  unit_->clear_at(all, deadline());
}

void DeviceSparsifier::send_own(StepContext& context, const SelectedEntries& entries) {
  const Indices own = places_of(entries);
  reduce_entries(context, num_values(), own, entries.values, options_.reduce);
  unit_->clear_at(own, deadline());
}

SparsifierState DeviceSparsifier::state() {
  SparsifierState state;
  state.name = name_;
  state.num_values = num_values();
  state.step = step_;
  RawVector<float>& residual = state.tensors["residual"];
  residual.resize(num_values());
  unit_->save({residual, {}}, deadline());
  if (rule_ == Rule::kMicro) control_.save(state);
  return state;
}

void DeviceSparsifier::restore(const SparsifierState& state) {
  if (state.name != name_ || state.num_values != num_values()) {
    throw Error("sparsifier", "the state is of " + state.name + " with " +
                                  std::to_string(state.num_values) + " values; this is " + name_ +
                                  " with " + std::to_string(num_values()));
  }
  ThresholdControl control = control_;
  if (rule_ == Rule::kMicro) control.load(state);
  RawVector<float> residual = tensor_of(state, "residual");
  unit_->load({residual, {}}, deadline());
  control_ = control;
  step_ = state.step;
}

std::unique_ptr<DeviceSparsifier> make_device_sparsifier(
    std::string_view name, std::unique_ptr<device::SelectionUnit> unit,
    const SparsifierOptions& options) {
  for (const NamedRule& each : kDeviceRules) {
    if (name != each.name) continue;
    SparsifierOptions checked = options;
    checked.layer_sizes.clear();
    make_sparsifier(name, 1, checked);  // throws for an option out of range
    if (is_narrow(options.reduce)) {
      throw Error(
          "sparsifier",
          "a device keeps no rounding errors of 16-bit values; use f32 on the wire, or copy "
          "the gradient to host memory");
    }
    return std::make_unique<DeviceSparsifier>(each.name, each.rule, std::move(unit), options);
  }
  std::string known;
  for (const std::string& each : device_sparsifier_names()) {
    known += (known.empty() ? "" : ", ") + each;
  }
  throw Error("sparsifier", "no sparsifier that selects on a device is called '" +
                                std::string(name) + "'; there are: " + known +
                                "; copy the gradient to host memory for the others");
}

std::vector<std::string> device_sparsifier_names() {
  std::vector<std::string> names;
  for (const NamedRule& each : kDeviceRules) names.emplace_back(each.name);
  return names;
}

}  // namespace tandem::collectives
