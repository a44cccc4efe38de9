// SPDX-License-Identifier: Apache-2.0
//
// Each kind gets a share of the faults, and a length drawn from its range.
#include "emulation/faults/storm.h"

#include <sstream>

#include "emulation/faults/fault_plan.h"

namespace tandem::emulation {
namespace {

struct StormKind {
  const char* event;
  const char* fault;
  double share;     // of all faults
  const char* key;  // key of a time; empty: none
  uint64_t least_ms, most_ms;
};
constexpr StormKind kStorm[] = {
    {"launch", "die", 0.02, "for", 100, 1000},
    {"launch", "reset", 0.02, "for", 50, 500},
    {"launch", "hang", 0.04, "for", 20, 400},
    {"launch", "never", 0.01, "", 0, 0},
    {"launch", "lost_interrupt", 0.01, "", 0, 0},
    {"launch", "fail", 0.10, "", 0, 0},
    {"launch", "fail error=EBUSY", 0.05, "", 0, 0},
    {"launch", "twice", 0.15, "", 0, 0},
    {"launch", "late", 0.20, "by", 1, 30},
    {"launch", "flip ecc=uncorrected", 0.02, "", 0, 0},
    {"launch", "flip ecc=corrected", 0.08, "", 0, 0},
    {"sync", "fail", 0.05, "", 0, 0},
    {"sync", "stall", 0.10, "for", 1, 50},
    {"sync", "slow factor=0.1", 0.10, "for", 10, 200},
    {"sync", "flip ecc=uncorrected", 0.02, "", 0, 0},
    {"sync", "flip ecc=corrected", 0.03, "", 0, 0},
};
// Events that are rarer than launches: their own share of failures.
constexpr const char* kSetUps[] = {"allocate skip=40", "load skip=4", "open skip=4"};
constexpr double kSetUpFailures = 0.1;

class StormScript {
 public:
  StormScript(uint64_t seed, uint64_t events) : seed_(seed), events_(events) {
    out_ << "# a storm of faults\nseed " << seed << "\n";
  }
  void add_faults(const std::string& trigger) {
    for (const StormKind& kind : kStorm) {
      const double weight = static_cast<double>(draw(50, 150)) / 100;  // storms differ
      out_ << kind.event << " skip=" << events_
           << " p=" << kind.share * weight / static_cast<double>(events_) << trigger << " "
           << kind.fault;
      if (*kind.key != 0) {
        out_ << " " << kind.key << "=" << draw(kind.least_ms, kind.most_ms) << "ms";
      }
      out_ << "\n";
    }
    for (const char* event : kSetUps) {
      out_ << event << " p=" << kSetUpFailures << trigger << " fail\n";
    }
  }
  std::string text() const { return out_.str(); }

 private:
  uint64_t draw(uint64_t least, uint64_t most) {
    return least + pick(seed_, drawn_++, most - least + 1);
  }
  const uint64_t seed_;
  const uint64_t events_;
  uint64_t drawn_ = 0;
  std::ostringstream out_;
};

}  // namespace

std::string make_storm(uint64_t seed, uint64_t events, uint32_t cards) {
  StormScript storm(seed, events);
  if (cards == 0) storm.add_faults("");
  for (uint32_t card = 0; card < cards; ++card) {
    storm.add_faults(" card=" + std::to_string(card));
  }
  return storm.text();
}

}  // namespace tandem::emulation
