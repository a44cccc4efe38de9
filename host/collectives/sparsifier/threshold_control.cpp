// SPDX-License-Identifier: Apache-2.0
//
// All in f64 from numbers that every rank has: the same bits everywhere.
#include "collectives/sparsifier/threshold_control.h"

#include <algorithm>
#include <cmath>

#include "collectives/sparsifier/exchange.h"

namespace tandem::collectives {
namespace {

constexpr double kGain = 0.2, kTrendGain = 0.01;
constexpr double kMostError = 1;  // of the logarithm
constexpr double kMostTrend = 0.1;

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
  threshold_ = thresholds.front();
}

void ThresholdControl::follow(std::uint64_t count, std::uint64_t goal) {
  const double ratio =
      static_cast<double>(std::max<std::uint64_t>(count, 1)) / static_cast<double>(goal);
  if (published_) {
    threshold_ *= published_factor(ratio);
  } else {
    const double error = std::clamp(std::log(ratio), -kMostError, kMostError);
    trend_ = std::clamp(trend_ + kTrendGain * error, -kMostTrend, kMostTrend);
    threshold_ *= std::exp(kGain * error + trend_);
  }
  threshold_ = std::clamp(threshold_, 1e-37, 1e37);  // stays a positive f32
}

void ThresholdControl::save(SparsifierState& state) const {
  state.numbers["threshold"] = {threshold_, trend_};
}

void ThresholdControl::load(const SparsifierState& state) {
  const std::vector<double>& saved = numbers_of(state, "threshold", 2);
  threshold_ = saved[0];
  trend_ = saved[1];
}

Indices select_at_least_one(std::span<const float> values, std::uint64_t begin, std::uint64_t end,
                            const ThresholdControl& control, ThreadPool* threads) {
  if (begin == end) return {};
  Indices found;
  if (control.seeded()) found = find_at_least(values, begin, end, control.threshold(), threads);
  return found.empty() ? Candidates(values, begin, end, threads).top(1) : found;
}

}  // namespace tandem::collectives
