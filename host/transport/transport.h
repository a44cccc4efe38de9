// SPDX-License-Identifier: Apache-2.0
//
// Transport: how the ranks of one group exchange messages (threads, MPI, gloo, NCCL, a simulated
// network).
//
// Everything is an Exchange: one step in which a rank sends to some peers and receives from some.
// A message has any size, zero included, and the receiver need not know it. Messages between two
// ranks match by tag; at most one message per (source, destination, tag) is in flight. Several
// exchanges may be in flight, with different tags. A rank never sends to itself.
// Ownership: the transport keeps a payload until it has left; an Exchange must not outlive its
// Transport. Destroying an unfinished exchange is allowed only after abort().
// Threads: one thread at a time drives a transport and its exchanges; abort() and traffic() from
// any. Errors: TransportError naming the peer, at the latest at the deadline; afterwards every call
// of this transport throws.
// To add a transport: implement the protected members, document its row of README.md, and add it to
// tests/host/collectives/transport.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/transport/payload.h"
#include "collectives/transport/traffic.h"
#include "collectives/transport/transport_error.h"
#include "common/deadline.h"

namespace tandem::collectives {

using Tag = std::uint32_t;  // below 2^24; wraps

struct Outgoing {
  int peer = -1;
  Payload payload;
  Tag tag = 0;
};

struct Source {
  int peer = -1;
  Tag tag = 0;
};

struct Incoming {
  int peer = -1;
  Payload payload;
};

class Exchange {
 public:
  virtual ~Exchange() = default;

  // The next message, in any order; nullopt once every expected one has been taken.
  std::optional<Incoming> next(Deadline deadline);

  // Waits until every message of this exchange has left (which may need the peers to receive).
  // Messages not yet taken with next() are dropped.
  virtual void finish(Deadline deadline) = 0;

 protected:
  explicit Exchange(Traffic& traffic) : traffic_(traffic) {}
  virtual std::optional<Incoming> do_next(Deadline deadline) = 0;

 private:
  Traffic& traffic_;
};

class Transport {
 public:
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual std::string_view kind() const = 0;  // "inproc", "mpi", "gloo", "nccl", "simulated"
  int rank() const { return rank_; }
  int world() const { return world_; }

  // Names the machine this rank runs on; ranks with the same name share a node.
  virtual std::string node_name() const = 0;

  // Starts a step; never blocks on a peer. `sources`: whom to receive one message from each.
  std::unique_ptr<Exchange> start(std::vector<Outgoing> sends, std::vector<Source> sources);

  // Breaks the group: every present and later wait on this rank throws kAborted, and peers that
  // wait for this rank throw soon (how soon: each implementation says). Does nothing the second
  // time.
  virtual void abort(const std::string& reason) noexcept = 0;

  // The transport of the ranks that call shrink() before `deadline`, in order of their old ranks.
  // Collective among survivors; this transport must be broken, and is spent afterwards. Throws
  // Error where the implementation cannot (mpi).
  virtual std::unique_ptr<Transport> shrink(Deadline deadline) = 0;

  TrafficSnapshot traffic() const { return traffic_.snapshot(); }

 protected:
  Transport(int rank, int world);
  virtual std::unique_ptr<Exchange> do_start(std::vector<Outgoing> sends,
                                             std::vector<Source> sources) = 0;
  Traffic& counters() { return traffic_; }

 private:
  int rank_;
  int world_;
  Traffic traffic_;
};

}  // namespace tandem::collectives
