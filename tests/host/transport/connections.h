// SPDX-License-Identifier: Apache-2.0
//
// What a transport whose connections fail alone must do, as checks for its surviving ranks.
//
// Every survivor calls the same check at the same time, on its own thread or process. A check
// throws ConformanceError naming the rank and what differs. Ranks are at least three.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "transport/transport.h"

namespace tandem::test {

// `lost` has gone, or goes while this runs. A wait for it throws kPeerLost, an exchange that was
// started before goes on, and so do new messages among the others.
void survive_lost_peer(transport::Transport& transport, int lost, Deadline deadline);

// All ranks call it: rank 0 closes its connection to rank 1. Each of the two gets kAborted for the
// other, and exchanges messages with rank 2 all the same.
void survive_closed_connection(transport::Transport& transport, Deadline deadline);

// A receive that times out closes the connection to its peer, and no other. All ranks call it.
void survive_late_peer(transport::Transport& transport, Deadline deadline);

// All ranks call it: rank 0 aborts; its own connections end, those of the others go on.
void survive_aborted_peer(transport::Transport& transport, Deadline deadline);

// All ranks call it: rank 0 aborts while the others wait for each other; in a group that ends every
// wait, and every later one.
void fail_together(transport::Transport& transport, Deadline deadline);

using RunRanks = std::function<void(
    int world, const std::function<void(std::unique_ptr<transport::Transport>)>& body)>;

// All of the above, each in a world of its own. Where time is virtual nobody comes late.
void check_connections(const RunRanks& run_ranks, bool virtual_time = false);

}  // namespace tandem::test
