// SPDX-License-Identifier: Apache-2.0
//
// The nccl transport: a rank is a process or a thread with its own GPU; messages travel between
// GPUs by grouped ncclSend and ncclRecv.
//
// Messages are in host memory, as in the whole library, and pass through pinned memory and a device
// buffer on both sides. next() and finish() run rounds. A round transfers at most one message to
// and one from every peer, over all started exchanges. A message arrives only with its whole round:
// a rank must not make one message wait for another message of the same step from a third rank.
// NCCL does not name a failed rank: errors have peer -1 and list the ranks of the round.
// libnccl.so.2 is loaded at the first use; programs start without it. Measured on a GPU:
// benchmarks/gpu/RESULTS.md.
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
  UniqueId id{};  // of make_unique_id() on one rank; the caller sends it to all
  int device_index = 0;
  Deadline deadline = Deadline::after(std::chrono::seconds(60));  // for the arrival of all ranks
  // Kernels of our own store into the peers' windows of symmetric memory (NCCL 2.28), in place of
  // groups of sends. The same on all ranks; connect() throws Error if it is not possible.
  bool symmetric = false;

  // Called by shrink(). Returns the living ranks of the old group, ascending, and the same on each
  // of them. NCCL cannot agree on them; without this function shrink() throws Error.
  std::function<std::vector<int>(Deadline)> agree_on_survivors;
};

// Whether this build has the transport and this machine libnccl and a GPU; otherwise the reason.
// Every build with the NCCL header has it.
bool available();
std::string unavailable_reason();

UniqueId make_unique_id();

// Collective among the ranks of the group. Throws Error for options that cannot work,
// TransportError when not all ranks have arrived by the deadline.
//
// A round first sends a group of fixed pieces of 16 KiB (size, tag and the first bytes), then, for
// longer messages, a group of the rests. Communicators are non-blocking and polled to the deadline.
// After an error the group is broken; shrink() or the destructor ends kernels that wait for a dead
// peer. abort() acts on this rank only; peers notice at their deadline, or earlier if NCCL sees the
// connection end (between nodes). With `symmetric` a round has the same parts: messages are in host
// memory and receivers do not know their sizes, so the host starts each part in any case. Of NCCL's
// device API, pointers to peers are used; multimem sums, and put with signal goes between nodes.
std::unique_ptr<Transport> connect(const Options& options);

}  // namespace tandem::transport::nccl
