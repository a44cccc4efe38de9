// SPDX-License-Identifier: Apache-2.0
//
// The numbers are one more parameter: a vector, so it is summed densely with the small ones.
#include "training/trainer/gradient_mean.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "collectives/collective.h"
#include "common/error.h"

namespace tandem::training {
namespace {

constexpr const char* kNumbersName = "the step's numbers";

// For directions whose density has no warm-up of its own (reducer/options.h): the share of 1 /
// density steps that is dense, because a run learns most in its first steps.
constexpr double kLeastDensity = 0.01;
constexpr double kDenseShare = 0.3;

ReducerOptions reducer_options(const ReduceOptions& options) {
  const ReduceChoice& choice = options.choice;
  ReducerOptions reducer;
  reducer.sparsifier = choice.sparsifier;
  reducer.density = choice.density;
  reducer.scheme = choice.sparsifier == kDense ? "auto" : options.scheme;
  reducer.dense_below = options.dense_below;
  reducer.warmup_steps = options.warmup_steps;
  reducer.bucket_bytes = options.bucket_bytes;
  reducer.seed = options.seed;
  reducer.timeout = options.timeout;
  reducer.non_finite = OnNonFinite::kPass;
  const bool named = choice.sparsifier != kDense && choice.sparsifier != kAuto;
  if (!options.steps || !named) return reducer;
  reducer.algorithm.momentum = 0;  // dgc's: directions have their own
  if (!reducer.warmup_steps && choice.density >= kLeastDensity) {
    reducer.warmup_steps = static_cast<std::uint64_t>(std::llround(kDenseShare / choice.density));
  }
  return reducer;
}

}  // namespace

bool is_sparsified(const ReduceOptions& options, const ParameterSpec& spec) {
  return treatment_of(reducer_options(options), spec.name, spec.shape).sparsifier != kDense;
}

GradientMean::GradientMean(collectives::Group* group, ParameterSet& parameters,
                           const ReduceOptions& options, MeanListener listener)
    : group_(group), parameters_(parameters), options_(options), listener_(std::move(listener)) {
  build({});
}

GradientMean::~GradientMean() = default;

void GradientMean::build(const std::vector<std::uint32_t>& order) {
  if (group_ == nullptr || group_->world() == 1) return;
  buckets_.reset();
  reducer_ = std::make_shared<Reducer>(*group_, reducer_options(options_));
  std::vector<GradientBuckets::NamedShape> shapes;
  for (std::size_t parameter = 0; parameter < parameters_.size(); ++parameter) {
    shapes.emplace_back(parameters_.spec(parameter).name, parameters_.spec(parameter).shape);
  }
  shapes.emplace_back(kNumbersName, std::vector<std::int64_t>{kNumbers});
  buckets_ = std::make_unique<GradientBuckets>(*reducer_, options_.bucket_bytes, shapes, order);
  if (listener_) buckets_->on_submit([this](const auto& bucket) { tell(bucket); });
  bytes_before_ = 0;
  calls_before_.clear();
}

// Excludes the numbers of the step, which may be between parameters.
void GradientMean::tell(const GradientBuckets::Submitted& bucket) {
  MeanBucket part;
  part.arrived = [reducer = reducer_, ticket = bucket.ticket] {
    reducer->wait(ticket, Deadline::never());
  };
  const float* values = bucket.values.data();
  const auto flush = [&] {
    if (!part.parameters.empty()) listener_(part);
    values += part.values.size();
    part.parameters.clear();
    part.values = {values, std::size_t{0}};
  };
  flush();
  for (const std::size_t parameter : bucket.parameters) {
    if (parameter == parameters_.size()) {
      flush();
      values += kNumbers;
      part.values = {values, std::size_t{0}};
      continue;
    }
    part.parameters.push_back(static_cast<std::uint32_t>(parameter));
    part.values = {values, part.values.size() + parameters_.values(parameter).size()};
  }
  flush();
}

void GradientMean::ready(std::size_t parameter) {
  if (buckets_) return buckets_->ready(parameter, parameters_.gradient(parameter));
  if (!listener_) return;
  listener_({{static_cast<std::uint32_t>(parameter)}, parameters_.gradient(parameter), {}});
}

void GradientMean::finish(Numbers& numbers) {
  if (!buckets_) return;
  numbers_ = numbers;
  buckets_->ready(parameters_.size(), numbers_);
  // Every call has its timeout.
  buckets_->finish(Deadline::never(), GradientBuckets::Means::kLeave);
  std::ranges::copy(buckets_->mean(parameters_.size()), numbers.begin());
}

std::span<const float> GradientMean::gradient(std::size_t parameter) const {
  return buckets_ ? buckets_->mean(parameter) : parameters_.gradient(parameter);
}

ReduceFigures GradientMean::figures() {
  ReduceFigures figures;
  if (!reducer_) return figures;
  const ReducerStatistics now = reducer_->counts();
  double sparsified = 0, sent = 0, build_up = 0;
  calls_before_.resize(now.buckets.size());
  for (std::size_t at = 0; at < now.buckets.size(); ++at) {
    const BucketStatistics& bucket = now.buckets[at];
    const std::uint64_t calls = bucket.calls - bucket.dense_calls;
    if (calls == std::exchange(calls_before_[at], calls)) continue;
    const auto values = static_cast<double>(bucket.sparsified_values);
    sparsified += values;
    sent += values * bucket.density_sent;
    build_up += values * bucket.build_up;
  }
  if (sparsified > 0) {
    figures.density_sent = sent / sparsified;
    figures.build_up = build_up / sparsified;
  }
  figures.bytes_sent = now.bytes_sent - std::exchange(bytes_before_, now.bytes_sent);
  return figures;
}

ReduceState GradientMean::state() {
  ReduceState state;
  if (reducer_) {
    state.order = buckets_->order();
    state.reducer = reducer_->state();
  }
  return state;
}

void GradientMean::restore(const ReduceState& state) {
  build(state.order);
  if (reducer_ && !state.reducer.empty()) reducer_->restore(state.reducer);
}

}  // namespace tandem::training
