// SPDX-License-Identifier: Apache-2.0
//
// All in f64 from numbers that every rank has: the same bits everywhere.
#include "collectives/sparsifier/threshold_control.h"

#include <algorithm>
#include <cmath>

#include "collectives/sparsifier/exchange.h"

namespace tandem::collectives {
namespace {

constexpr double kGain = 0.8, kTrendGain = 0.12;  // over the slope; larger ones oscillate
constexpr double kLeastSlope = 1, kMostSlope = 40;
constexpr double kSlopeShare = 0.1;  // of a step's slope in the mean
constexpr double kMostError = 1;
constexpr double kMostTrend = 0.1;
constexpr double kMeasuredShare = 0.5;  // of what a threshold lacked in the trend

double published_factor(double ratio) {
  if (ratio > 1.1) return 1.005;
  if (ratio > 1) return 1.00125;
  return ratio > 1 / 1.1 ? 0.9987 : 0.995;
}

}  // namespace

void ThresholdControl::seed(StepContext& context, double own_threshold,
                            const ReduceOptions& options) {
  std::vector<double> thresholds{own_threshold};
  allreduce(context.group, DenseView::of(thresholds), dense_options(options));
  const double measured = thresholds.front();
  if (measured <= 0) return;
  if (seeded()) {
    const double lacked = kMeasuredShare * std::log(measured / threshold_);
    trend_ = std::clamp(trend_ + lacked, -kMostTrend, kMostTrend);
  }
  threshold_ = measured;
}

void ThresholdControl::follow(std::uint64_t count, std::uint64_t steep, std::uint64_t goal) {
  const double ratio =
      static_cast<double>(std::max<std::uint64_t>(count, 1)) / static_cast<double>(goal);
  if (published_) {
    threshold_ *= published_factor(ratio);
  } else {
    const double fall = static_cast<double>(std::max<std::uint64_t>(count, 1)) /
                        std::max(static_cast<double>(steep), 0.5);
    const double slope =
        std::clamp(std::log(fall) / std::log(kSteepFactor), kLeastSlope, kMostSlope);
    slope_ = slope_ == 0 ? slope : slope_ + kSlopeShare * (slope - slope_);
    const double error = std::min(ratio - 1, kMostError);
    trend_ = std::clamp(trend_ + kTrendGain / slope_ * error, -kMostTrend, kMostTrend);
    threshold_ *= std::exp(kGain / slope_ * error + trend_);
  }
  threshold_ = std::clamp(threshold_, 1e-37, 1e37);  // stays a positive f32
}

void ThresholdControl::save(SparsifierState& state) const {
  state.numbers["threshold"] = {threshold_, trend_, slope_};
}

void ThresholdControl::load(const SparsifierState& state) {
  const std::vector<double>& saved = numbers_of(state, "threshold", 3);
  threshold_ = saved[0];
  trend_ = saved[1];
  slope_ = saved[2];
}

PartitionSelection select_at_least_one(ResidualStore& store, std::uint64_t begin, std::uint64_t end,
                                       const ThresholdControl& control) {
  if (begin == end) return {};
  const auto found = store.candidates(begin, end);
  if (control.seeded()) found->collect_from(control.threshold());
  if (found->size() == 0) return {found->top(1), 0};
  const std::uint64_t steep = found->count_at_least(control.steep_threshold());
  return {found->release(), static_cast<std::uint32_t>(steep)};
}

}  // namespace tandem::collectives
