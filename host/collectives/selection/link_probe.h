// SPDX-License-Identifier: Apache-2.0
//
// Link probe: measures latency and bandwidth between the ranks of a group, and the speed of their
// processors, by collective steps. Every rank gets the same numbers.
//
// Partners exchange messages, all pairs at the same time: empty ones for latency, two sizes for
// bandwidth, bursts for the time per message; within nodes and between them. In odd groups the
// pairs change so that every rank takes part. The result is the median of the ranks' medians.
// Threads: the calling thread's. Errors: TransportError.
#pragma once

#include <functional>
#include <span>

#include "collectives/frames/communicator.h"
#include "collectives/scheme/problem.h"

namespace tandem::collectives {

using SecondsClock = std::function<double()>;

// Monotonic time of this machine.
double steady_seconds();

struct MachineModel {
  LinkModel link;
  ComputeModel compute;
};

// Collective. nodes: [world], equal for ranks of one machine; empty: every rank on its own machine.
// On one machine bandwidth counts as shared if all pairs together transfer hardly more than one
// pair. `now` gives seconds; a simulated network passes its own clock. Cost per rank: about 65
// steps and 8 MB; rank 0 and its partner on one machine 15 MB; 90 steps and 16 MB in odd groups;
// twice that with several ranks per node (a pairing is 31 steps and 8 MB, and there are at most 6).
LinkModel probe_links(Communicator& ranks, std::span<const std::uint64_t> nodes = {},
                      const SecondsClock& now = steady_seconds);

// Times merge, encode, decode and dense addition here (about 10 ms, once per process).
ComputeModel measure_compute();

// Calls probe_links() and measure_compute(). The result is the same on all ranks. Collective.
MachineModel probe_machine(Communicator& ranks, std::span<const std::uint64_t> nodes = {});

}  // namespace tandem::collectives
