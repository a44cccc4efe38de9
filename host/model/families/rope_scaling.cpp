// SPDX-License-Identifier: Apache-2.0
//
// RoPE frequency scaling, in double precision.
#include "model/families/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tandem::model {
namespace {

// The (fractional) dimension that makes `rotations` full turns over the original context.
double dimension_of(const RopeScalingConfig& config, double rotations) {
  return config.num_dims *
         std::log(config.original_context / (rotations * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(static_cast<double>(config.base)));
}

// The share of the unscaled frequency each pair keeps: 1 below `low`, 0 above `high`.
std::vector<double> kept_shares(const RopeScalingConfig& config) {
  const double last = config.num_dims - 1;
  const double low = std::max(0.0, std::floor(dimension_of(config, config.beta_fast)));
  const double high = std::min(last, std::ceil(dimension_of(config, config.beta_slow)));
  std::vector<double> shares(static_cast<std::size_t>(config.num_dims / 2));
  for (std::size_t pair = 0; pair < shares.size(); ++pair) {
    const double position = (static_cast<double>(pair) - low) / std::max(0.001, high - low);
    shares[pair] = 1.0 - std::clamp(position, 0.0, 1.0);
  }
  return shares;
}

}  // namespace

RopeConfig scaled_rope(const RopeScalingConfig& config) {
  RopeConfig rope;
  std::vector<double> shares;
  if (config.kind == RopeScaling::kYarn) {
    shares = kept_shares(config);
    rope.magnitude = config.attention_factor *
                     static_cast<float>(1.0 + 0.1 * std::log(static_cast<double>(config.factor)));
  }
  for (int pair = 0; pair < config.num_dims / 2; ++pair) {
    const auto index = static_cast<std::size_t>(pair);
    double frequency = std::pow(static_cast<double>(config.base), -2.0 * pair / config.num_dims);
    if (!config.divisors.empty()) frequency /= config.divisors[index];
    if (config.kind == RopeScaling::kLinear) frequency /= config.factor;
    if (config.kind == RopeScaling::kYarn) {
      frequency = frequency * shares[index] + frequency / config.factor * (1.0 - shares[index]);
    }
    rope.inverse_frequencies.push_back(static_cast<float>(frequency));
  }
  return rope;
}

}  // namespace tandem::model
