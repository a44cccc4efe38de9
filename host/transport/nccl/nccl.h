// SPDX-License-Identifier: Apache-2.0
//
// The nccl transport: a rank is a process or a thread with a GPU of its own; messages travel
// between GPUs by grouped ncclSend and ncclRecv.
//
// Messages begin and end in host memory, as everywhere in this library, and pass through pinned
// memory and a device buffer on both sides. The work is done in rounds, driven by next() and
// finish(): a round takes at most one message to and one from every peer, of all exchanges that
// have been started. First a group of fixed pieces of 16 KiB (size, tag and the first bytes), then,
// where a message is longer, a group of the rests. So a message arrives with its whole round: a
// rank must not make one message wait for another of the same step from a third rank. Communicators
// are non-blocking and polled to the deadline. NCCL names no culprit: errors carry peer -1 and list
// whom the round waited for. After an error the group is broken; kernels that wait for a dead peer
// are ended by shrink() or by the destructor. abort() acts on this rank only; peers notice at their
// deadline, or earlier where NCCL sees the connection end (between nodes). Of NCCL's device API
// (2.28: load/store peers, multimem, put + signal) nothing is used: messages are host memory of
// sizes that receivers do not know, so the host has to act in any case. libnccl.so.2 is loaded when
// it is first asked for; programs start without it. This transport compiles in every build with the
// NCCL header. What has run on a GPU: benchmarks/gpu/RESULTS.md.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/deadline.h"
#include "transport/transport.h"

namespace tandem::transport::nccl {

using UniqueId = std::array<std::byte, 128>;

struct Options {
  int rank = 0;
  int world = 1;
  UniqueId id{};  // of make_unique_id() on one rank, carried to all by whatever the caller has
  int device_index = 0;
  Deadline deadline = Deadline::after(std::chrono::seconds(60));  // by when all must have come

  // Called by shrink(): the ranks of the old group that are alive, ascending, the same answer on
  // each of them. NCCL has no way to agree on it; without this function shrink() throws Error.
  std::function<std::vector<int>(Deadline)> agree_on_survivors;
};

// Whether this build has the transport and this machine libnccl and a GPU; otherwise the reason.
bool available();
std::string unavailable_reason();

UniqueId make_unique_id();

// Collective among the ranks of the group. Throws Error for options that cannot work,
// TransportError when not all ranks have come by the deadline.
std::unique_ptr<Transport> connect(const Options& options);

}  // namespace tandem::transport::nccl
