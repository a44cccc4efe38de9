// SPDX-License-Identifier: Apache-2.0
//
// Ranks as threads of this process, each with a group over the simulated network.
//
// Errors: the first by rank that is not merely another rank's abort.
#pragma once

#include <functional>

#include "collectives/collective.h"

namespace tandem::apps {

struct SimulatedLinks {
  int world;
  double gbit_per_s;  // bandwidth of a rank's link in each direction
  double latency_us;
};

// The rank's seconds of virtual time.
using VirtualClock = std::function<double()>;

void run_simulated_ranks(
    const SimulatedLinks& links,
    const std::function<void(collectives::Group& group, const VirtualClock& clock)>& body);

}  // namespace tandem::apps
