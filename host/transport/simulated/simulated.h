// SPDX-License-Identifier: Apache-2.0
//
// The simulated transport: ranks are threads of one process, messages take virtual time.
//
// Every rank has a clock; computing takes no virtual time. Times depend only on the messages, not
// on the scheduling of threads: the network advances only when every rank waits, and then only by
// the least latency, within which no new message can arrive. A rank without a running thread blocks
// all others until their deadlines. When all wait and nothing is in flight, waits for a rank that
// has left throw kPeerLost at once; if there are none, all throw kTimeout. Connections fail alone.
// Deadlines are real time. shrink() throws Error. Cost: one lock; a wait is a thread switch; tested
// with up to 1,024 ranks.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "transport/simulated/network.h"
#include "transport/transport.h"

namespace tandem::transport::simulated {

// One transport per rank, in rank order; give each to its thread. A message is sent at the sender's
// clock and travels as network.h says. next() returns the messages of the exchange in order of
// arrival (ties: the lower sender) and sets the clock to the arrival. finish() sets it to the time
// when the last byte of the exchange's messages is sent.
std::vector<std::unique_ptr<Transport>> make_world(const NetworkOptions& options);

// The rank's clock in seconds. Throws Error for transports of another kind.
double now(const Transport& transport);

// Runs `body` on a thread per rank (stacks of 512 KiB), each with its transport, and joins them. A
// rank that throws aborts its group. Rethrows the first exception by rank, but a cause before the
// aborts that followed from it.
void run_ranks(const NetworkOptions& options, const std::function<void(Transport&)>& body);

}  // namespace tandem::transport::simulated
