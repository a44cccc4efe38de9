// SPDX-License-Identifier: Apache-2.0
//
// A script at work: counts events and says which faults are due.
//
// Every card counts its own events, and every rule with a unit or a direction counts only those it
// names. A probability is decided by a hash of seed, rule, card and count, so the order in which
// threads come does not matter. What is due comes as a rule with number and card: the same event,
// once. Random places (offset, address, bit) come from the same hash, see pick(). Threads: any.
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
  std::string kernel, unit;  // of launches
  LinkDirection direction = LinkDirection::kBoth;
};

// A fault that is due, as a statement that makes it happen there again.
struct DueFault {
  FaultRule rule;
  uint64_t random = 0;  // for places that the script leaves open
};

class FaultPlan {
 public:
  explicit FaultPlan(FaultScript script)
      : script_(std::move(script)), fired_(script_.rules.size()) {}

  // The faults due at this event, in the script's order.
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

// A number below `bound` (not 0), the `index`-th of a fault.
uint64_t pick(uint64_t random, uint64_t index, uint64_t bound);

}  // namespace tandem::emulation
