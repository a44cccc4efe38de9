// SPDX-License-Identifier: Apache-2.0
//
// The gloo transport: ranks are processes (or threads) that meet in a store and use TCP through
// Debian's libgloo. Ranks may fail; the survivors can form smaller groups.
//
// A message is one gloo message of up to 32 KiB (with 16 bytes of header); the rest follows in
// pieces of 4 MiB. gloo moves data only after the receiver has requested it, so the first message
// costs up to one round trip, and the rest one more. All transfers run at the same time on gloo's
// thread; start(), next() and finish() of the receiver request the rest. Errors: a peer that dies
// or leaves is kPeerLost as soon as the network reports it (at once on one host), a silent one
// kTimeout. Threads: as Transport; gloo has its own thread per transport. SIGPIPE is never
// delivered.
#pragma once

#include <memory>
#include <string>

#include "common/deadline.h"
#include "transport/transport.h"

namespace tandem::transport::gloo {

class Store;  // transport/gloo/store.h

struct Options {
  int rank = 0;
  int world = 1;

  // The store through which ranks find each other: the caller's own, or a directory that all can
  // reach (made if absent), or a Redis server.
  std::shared_ptr<Store> store;
  std::string store_directory;
  std::string redis_host;
  int redis_port = 6379;
  // Separates groups in one store: letters, digits, '.', '_' and '-'. Each group needs a new
  // prefix.
  std::string prefix = "tandem";

  // The address to listen on: the interface's name, or else a name or address of this host. If both
  // are empty: the address of the host's own name.
  std::string interface;
  std::string address;

  Deadline deadline = Deadline::after(std::chrono::seconds(30));  // for the arrival of all ranks
};

// Whether this build has libgloo.
bool available();

// Collective among the ranks of the group; returns when every pair of them is connected. Throws
// Error for options that cannot work (a world that differs among ranks, a rank that occurs twice, a
// missing store), and TransportError naming the rank that has not arrived by the deadline.
//
// abort() of the transport sends its reason on every connection and closes it, so peers throw
// kAborted at once (kPeerLost if a connection is stuck in the middle of a message).
//
// shrink(deadline) of the transport: survivors register in the store. One of them writes the final
// list of members. It does so when all ranks have registered; or when all have registered except
// those that it saw dying (after at most half a second); or when three quarters of its time are
// used. A rank that registers later gets an error.
std::unique_ptr<Transport> connect(const Options& options);

}  // namespace tandem::transport::gloo
