// SPDX-License-Identifier: Apache-2.0
//
// The hash is a chain of SplitMix64 steps.
#include "emulation/faults/fault_plan.h"

#include "common/split_mix.h"

namespace tandem::emulation {
namespace {

uint64_t random_of(uint64_t seed, uint64_t rule, uint64_t card, uint64_t number) {
  return split_mix(split_mix(split_mix(split_mix(seed) ^ rule) ^ card) ^ number);
}

bool names(const FaultRule& rule, const FaultOccasion& occasion) {
  if (rule.event != occasion.event || (rule.card && *rule.card != occasion.card)) return false;
  if (rule.direction != LinkDirection::kBoth && rule.direction != occasion.direction) return false;
  return rule.unit.empty() || rule.unit == occasion.unit ||
         rule.unit == occasion.kernel + ":" + occasion.unit;
}

}  // namespace

uint64_t pick(uint64_t random, uint64_t index, uint64_t bound) {
  return split_mix(random ^ (index + 1)) % bound;
}

uint64_t FaultPlan::count(size_t rule, uint32_t card) { return ++counts_[{rule, card}]; }

bool FaultPlan::happens(const FaultRule& rule, size_t index, uint32_t card, uint64_t number) const {
  if (rule.number != 0 && number != rule.number) return false;
  if (number <= rule.skip) return false;
  if (rule.every != 0 && number % rule.every != 0) return false;
  if (rule.most != 0 && fired_[index] >= rule.most) return false;
  constexpr double kTwoTo53 = 9007199254740992.0;
  const uint64_t random = random_of(script_.seed, index, card, number);
  return static_cast<double>(random >> 11) / kTwoTo53 < rule.probability;
}

std::vector<DueFault> FaultPlan::due(const FaultOccasion& occasion) {
  std::vector<DueFault> found;
  std::lock_guard lock(mutex_);
  for (size_t index = 0; index < script_.rules.size(); ++index) {
    const FaultRule& rule = script_.rules[index];
    if (!names(rule, occasion)) continue;
    const uint64_t number = count(index, occasion.card);
    if (!happens(rule, index, occasion.card, number)) continue;
    ++fired_[index];
    DueFault due{rule, random_of(~script_.seed, index, occasion.card, number)};
    due.rule.number = number;
    due.rule.every = due.rule.most = due.rule.skip = 0;
    due.rule.probability = 1;
    due.rule.card = occasion.card;
    found.push_back(std::move(due));
  }
  return found;
}

}  // namespace tandem::emulation
