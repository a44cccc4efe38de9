// SPDX-License-Identifier: Apache-2.0
//
// The gloo transport: ranks are processes (or threads) that meet in a store and speak TCP through
// Debian's libgloo; they may fail, be left behind and form smaller groups.
//
// Ranks meet in a directory that all can reach, or in a Redis server; a prefix separates groups and
// is used once. A message is one gloo message of up to 32 KiB (16 bytes of ours before it), the
// rest follows in pieces of 4 MiB; gloo moves data once the receiver has asked for it, so the first
// costs up to one round trip, the rest one more. All transfers of all exchanges run at the same
// time on gloo's thread; the receiver asks for the rest while in start(), next() or finish().
// Errors: a peer that dies or leaves is kPeerLost as soon as the network says so (at once on one
// host), a silent one kTimeout; abort() sends its reason on every connection and closes it, so that
// peers throw kAborted at once (kPeerLost if a connection is stuck amid a message).
// Threads: as Transport; gloo has one of its own per transport. SIGPIPE is never delivered.
#pragma once

#include <memory>
#include <string>

#include "common/deadline.h"
#include "transport/transport.h"

namespace tandem::transport::gloo {

struct Options {
  int rank = 0;
  int world = 1;

  // Where ranks meet: a directory (made if absent), or else a Redis server.
  std::string store_directory;
  std::string redis_host;
  int redis_port = 6379;
  // Separates groups in one store: letters, digits, '.', '_' and '-'; another one for each group.
  std::string prefix = "tandem";

  // What to listen on: the interface's name, or else a name or address of this host; neither:
  // what the host's own name resolves to.
  std::string interface;
  std::string address;

  Deadline deadline = Deadline::after(std::chrono::seconds(30));  // by when all must have come
};

// Whether this build has libgloo.
bool available();

// Collective among the ranks of the group; returns when every pair of them is connected. Throws
// Error for options that cannot work (a world that differs among ranks, a rank twice, a store that
// is not there), TransportError naming the rank that has not come by the deadline.
//
// shrink(deadline) of the transport: survivors register in the store; the first to find all there,
// or all but those it saw dying (after a grace of at most half a second), or three quarters of its
// time used, writes the list of members, which is final. A rank that registers later gets an error.
std::unique_ptr<Transport> connect(const Options& options);

}  // namespace tandem::transport::gloo
