// SPDX-License-Identifier: Apache-2.0
//
// Transport: a rank's connections to the other ranks of a world (threads, MPI, gloo, NCCL, a
// simulated network).
//
// A message has any size, zero included; the receiver need not know the size. Messages between two
// ranks match by tag; at most one message per (source, destination, tag) is in flight. A rank never
// sends to itself. An Exchange is one step: it sends messages to some peers and receives from some.
// Several exchanges with different tags may be in flight.
// Failure: fails_alone() says whether a connection fails alone. If so, a wait for a lost peer
// throws, and the connections to the other peers stay usable. If not, the first error ends every
// connection.
// Ownership: the transport keeps a payload until it is sent. An Exchange must not outlive its
// Transport. It may be destroyed unfinished only after it threw, or after abort(). The tags of
// messages that it did not receive must then not be used again, with any peer; one exchange per
// peer avoids that.
// Threads: one at a time drives a transport and its exchanges; abort(), close() and traffic() from
// any. Errors: TransportError naming the peer, at the latest at the deadline.
// To add a transport: implement the virtual members, document its row of README.md, and add it to
// tests/host/transport.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/deadline.h"
#include "transport/payload.h"
#include "transport/traffic.h"
#include "transport/transport_error.h"

namespace tandem::transport {

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

  // Waits until every message of this exchange is sent (this may need the peers to receive). Drops
  // messages that next() has not taken.
  virtual void finish(Deadline deadline) = 0;

 protected:
  explicit Exchange(Traffic& traffic) : traffic_(traffic) {}
  virtual std::optional<Incoming> do_next(Deadline deadline) = 0;

 private:
  Traffic& traffic_;
};

// The failures that end a wait.
enum class FailureScope : std::uint8_t {
  kConnection,  // of the peers that it waits for
  kGroup,       // also the abort of any peer (see collectives/frames/group_transport.h)
};

class Transport {
 public:
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual std::string_view kind() const = 0;  // "inproc", "mpi", "gloo", "nccl", "simulated"
  int rank() const { return rank_; }
  int world() const { return world_; }

  // A rank's number in the whole world that this one is a part of; its own number elsewhere.
  virtual int whole_rank(int rank) const { return rank; }

  // Names the machine this rank runs on; ranks with the same name share a node.
  virtual std::string node_name() const = 0;

  // Starts a step; never blocks on a peer. `sources`: the peers to receive one message from each.
  std::unique_ptr<Exchange> start(std::vector<Outgoing> sends, std::vector<Source> sources);

  // Whether losing one peer leaves the connections to the others usable.
  virtual bool fails_alone() const = 0;
  // kConnection at first. A transport that cannot fail alone stays in kGroup.
  virtual void set_failure_scope(FailureScope scope) = 0;

  // One message, point to point. send() waits until it is sent, which may need the peer to receive.
  // A receive that fails closes the connection to its peer, because the message of this tag could
  // arrive later.
  void send(int peer, Tag tag, Payload payload, Deadline deadline);
  Payload receive(int peer, Tag tag, Deadline deadline);

  // Ends the connection to `peer`: waits of either side for the other throw kAborted with the
  // reason (kPeerLost if it could not be delivered). If fails_alone() is false this is abort(). A
  // second call does nothing.
  virtual void close(int peer, const std::string& reason) noexcept = 0;

  // Ends every connection: each wait of this rank throws kAborted from now on, and peers that wait
  // for this rank throw soon (each implementation says how soon). A second call does nothing.
  virtual void abort(const std::string& reason) noexcept = 0;

  // The transport of the ranks that call shrink() before `deadline`, in order of their old ranks.
  // Collective among survivors. This transport must be aborted, and is unusable afterwards. Throws
  // Error if the implementation cannot shrink (mpi).
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

}  // namespace tandem::transport
