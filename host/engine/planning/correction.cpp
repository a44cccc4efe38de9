// SPDX-License-Identifier: Apache-2.0
//
// The rule that ignores accidents, around planner::corrected().
#include "engine/planning/correction.h"

#include <algorithm>
#include <cmath>

#include "planner/cost/cost_model.h"

namespace tandem::engine {
namespace {

constexpr double kAccident = 4;
constexpr double kLong = 0.05;
constexpr double kLeastFactor = 1e-3, kMostFactor = 1e4;

}  // namespace

double Correction::change_of(double predicted_s, double measured_s) {
  if (!(predicted_s > 0) || !(measured_s > 0)) return 1;
  const double ratio = measured_s / predicted_s;
  const int direction = ratio > kAccident ? 1 : ratio < 1 / kAccident ? -1 : 0;
  const bool is_believed = direction == 0 || direction == direction_ || measured_s >= kLong;
  direction_ = is_believed ? 0 : direction;
  return is_believed ? planner::corrected(1, predicted_s, measured_s) : 1;
}

void Correction::learn(double predicted_s, double measured_s) {
  factor_ = std::clamp(factor_ * change_of(predicted_s, measured_s), kLeastFactor, kMostFactor);
}

void Correction::relax() { factor_ = std::sqrt(factor_); }

}  // namespace tandem::engine
