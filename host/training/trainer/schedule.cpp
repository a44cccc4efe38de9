// SPDX-License-Identifier: Apache-2.0
//
// The last step has the last share; the first step after the warm-up has the whole rate.
#include "training/trainer/schedule.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/error.h"

namespace tandem::training {

void check_schedule(const Schedule& schedule) {
  if (!(schedule.rate > 0) || !std::isfinite(schedule.rate)) {
    throw Error("train",
                "--rate must be a number greater than 0, not " + fmt::format("{}", schedule.rate));
  }
  if (!(schedule.last >= 0 && schedule.last <= 1)) {
    throw Error("train", "--last-rate is a share of --rate, from 0 to 1, not " +
                             fmt::format("{}", schedule.last));
  }
}

double rate_of(const Schedule& schedule, std::uint64_t step) {
  if (step < schedule.warmup_steps) {
    return schedule.rate * static_cast<double>(step + 1) /
           static_cast<double>(schedule.warmup_steps);
  }
  if (schedule.decay == RateDecay::kConstant || schedule.steps <= schedule.warmup_steps + 1) {
    return schedule.rate;
  }
  const double done = static_cast<double>(step - schedule.warmup_steps) /
                      static_cast<double>(schedule.steps - schedule.warmup_steps - 1);
  const double part = std::min(done, 1.0);
  const double share = schedule.decay == RateDecay::kLinear
                           ? 1 - part
                           : 0.5 * (1 + std::cos(std::numbers::pi * part));
  return schedule.rate * (schedule.last + (1 - schedule.last) * share);
}

RateDecay rate_decay_named(const std::string& name) {
  if (name == "constant") return RateDecay::kConstant;
  if (name == "linear") return RateDecay::kLinear;
  if (name == "cosine") return RateDecay::kCosine;
  throw Error("train", "--decay is '" + name + "'; choose constant, linear or cosine");
}

}  // namespace tandem::training
