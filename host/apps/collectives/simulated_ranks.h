// SPDX-License-Identifier: Apache-2.0
//
// Runs ranks as threads of this process, each with a group over the simulated network.
//
// Errors: rethrows the error of the lowest rank that failed itself, not by another rank's abort.
#pragma once

#include <functional>

#include "collectives/collective.h"

namespace tandem::apps {

struct SimulatedLinks {
  int world;
  double gbit_per_s;  // bandwidth of a rank's link in each direction
  double latency_us;
};

// Returns the rank's virtual time in seconds.
using VirtualClock = std::function<double()>;

void run_simulated_ranks(
    const SimulatedLinks& links,
    const std::function<void(collectives::Group& group, const VirtualClock& clock)>& body);

}  // namespace tandem::apps
