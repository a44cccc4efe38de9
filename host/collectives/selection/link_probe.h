// SPDX-License-Identifier: Apache-2.0
//
// Link probe: measures latency and bandwidth between the ranks of a group, and the speed of their
// processors, by collective steps; the same numbers come out on every rank.
//
// Partners exchange messages, all pairs at the same time (empty ones for latency, two sizes for
// bandwidth, bursts for the time per message), within nodes and between them; in odd groups pairs
// change so that every rank takes part. Every rank's medians are gathered and their median taken.
// On one machine bandwidth counts as shared where all pairs together move hardly more than one.
// Collective. Cost per rank: about 65 steps and 8 MB, of rank 0 and its partner on one machine
// 15 MB; 90 and 16 MB in odd groups; nodes of several ranks twice that (a pairing is 31 steps and
// 8 MB, and there are 6 at most). `now` gives seconds; a simulated network passes its own clock.
// Threads: the call's. Errors: TransportError.
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

// nodes: [world], equal for ranks of one machine; empty: every rank on its own.
LinkModel probe_links(Communicator& ranks, std::span<const std::uint64_t> nodes = {},
                      const SecondsClock& now = steady_seconds);

// Times merge, encode, decode and dense addition here (about 10 ms, once per process).
ComputeModel measure_compute();

// Both, agreed.
MachineModel probe_machine(Communicator& ranks, std::span<const std::uint64_t> nodes = {});

}  // namespace tandem::collectives
