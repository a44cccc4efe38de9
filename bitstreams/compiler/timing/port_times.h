// SPDX-License-Identifier: Apache-2.0
//
// PortTimes: computes the time of the m_axi ports for the accesses of one loop, or of the code
// outside loops.
//
// Each bundle has one read and one write channel. Accesses form bursts if they are unconditional,
// at consecutive addresses, and the only ones of their bundle and direction. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "bitstreams/compiler/timing/kernel_model.h"
#include "bitstreams/compiler/timing/run_counts.h"

namespace tandem::timing {

struct SiteTraffic {
  int site = 0;
  double trips = 0;  // iterations of the loop that contains it; 0: in no loop
};

struct PortUse {
  std::string argument, bundle, bank;
  bool writes = false;
  bool bursts = false;
  double bytes = 0;
  double num_bursts = 0;
  double cycles = 0;   // busy cycles of the port's channel
  double latency = 0;  // cycles until a burst's first beat, or its response
  double accesses = 0;
  std::string why;            // why there are no bursts; empty: there are some
  double channel_cycles = 0;  // cycles that its bank needs for the bytes
};

class PortTimes {
 public:
  PortTimes(const KernelModel& model, const RunCounts& counts,
            const std::vector<TimedArgument>& arguments, const TimedCard& card)
      : model_(model), counts_(counts), arguments_(arguments), card_(card) {
    if (card.banks_far) find_spread();
  }

  // The use of device memory by these sites.
  std::vector<PortUse> uses(const std::vector<SiteTraffic>& sites) const;

 private:
  PortUse use_of(const SiteTraffic& site, bool shares_bundle) const;
  // Empty: the accesses form bursts.
  std::string why_no_bursts(const SiteTraffic& site, bool shares_bundle,
                            const std::string& bundle) const;
  void add_lone_accesses(const SiteRecord& record, const TimedBank& memory, PortUse& use) const;
  void add_bursts(const SiteTraffic& site, const TimedBank& memory, PortUse& use) const;
  double in_cycles(double ns) const { return ns / 1000 * card_.clock_mhz; }
  const TimedArgument* argument_of(const SiteRecord& record) const;
  const TimedBank* bank_of(std::uint64_t address) const;
  // Notes the bundles whose arguments lie in several banks.
  void find_spread();
  double round_trip_ns(const TimedBank& bank, const std::string& bundle) const;

  const KernelModel& model_;
  const RunCounts& counts_;
  const std::vector<TimedArgument>& arguments_;
  const TimedCard& card_;
  std::set<std::string> spread_;
};

}  // namespace tandem::timing
