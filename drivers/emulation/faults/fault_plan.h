// SPDX-License-Identifier: Apache-2.0
//
// FaultPlan: counts events and decides which faults of a script happen.
//
// Every card counts its own events, and a rule with a unit or a direction counts only matching
// events. A hash of seed, rule, card and count decides about probabilities, so the order of threads
// does not matter. A due fault is returned as a rule with number and card, so that it describes
// exactly this event. Random values (offset, address, bit) come from the same hash, see pick().
// Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "emulation/faults/fault_script.h"

namespace tandem::emulation {

struct FaultOccasion {
  FaultEvent event = FaultEvent::kLaunch;
  uint32_t card = 0;
  std::string kernel, unit;  // only for launches
  LinkDirection direction = LinkDirection::kBoth;
};

// A fault that happens now, as a rule that repeats it.
struct DueFault {
  FaultRule rule;
  uint64_t random = 0;  // for values that the script does not state
};

class FaultPlan {
 public:
  explicit FaultPlan(FaultScript script)
      : script_(std::move(script)), fired_(script_.rules.size()) {}

  // Returns the faults that happen at this event, in the order of the script.
  std::vector<DueFault> due(const FaultOccasion& occasion);
  const FaultScript& script() const { return script_; }

 private:
  uint64_t count(size_t rule, uint32_t card);
  bool happens(const FaultRule& rule, size_t index, uint32_t card, uint64_t number) const;

  const FaultScript script_;
  std::mutex mutex_;
  std::map<std::pair<size_t, uint32_t>, uint64_t> counts_;  // by rule and card
  std::vector<uint64_t> fired_;                             // by rule
};

// Returns a number below `bound` (not 0): the `index`-th random value of a fault.
uint64_t pick(uint64_t random, uint64_t index, uint64_t bound);

}  // namespace tandem::emulation
