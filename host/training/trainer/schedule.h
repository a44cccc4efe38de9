// SPDX-License-Identifier: Apache-2.0
//
// The learning rate of a step: a linear warm-up from 0, then a constant rate, or a linear or cosine
// decay to a share of the rate at the last step.
//
// Threads: any; pure functions. Errors: Error("train", ...) naming the option that is out of range.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::training {

enum class RateDecay : std::uint8_t { kConstant, kLinear, kCosine };

struct Schedule {
  double rate = 1e-3;
  std::uint64_t warmup_steps = 0;
  std::uint64_t steps = 1;  // of the whole run
  RateDecay decay = RateDecay::kConstant;
  double last = 0.1;  // share of the rate at the end of the decay
};

void check_schedule(const Schedule& schedule);
// step: from 0.
double rate_of(const Schedule& schedule, std::uint64_t step);

RateDecay rate_decay_named(const std::string& name);  // "constant", "linear", "cosine"

}  // namespace tandem::training
