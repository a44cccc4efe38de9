// SPDX-License-Identifier: Apache-2.0
//
// What processes sent over TCP, as libtandem-gloo.so recorded it:
//   tandem-sockets 1
//   rank 0 of 2 on node-1
//   store 29500             the port of torch's store; 0: none
//   flow OWN_ADDRESS OWN_PORT PEER_ADDRESS PEER_PORT WINDOW BYTES WRITES
//   counted ...             the same fields; compared with a flow, and not in sums
//   event ... SECONDS BYTES WRITES     one event of a flow: its ends, window and time
//   end                     before it: dropped_events COUNT
// The files of other ranks tell the rank at the other end. Traffic to other programs is ignored.
// Errors: Error("communication", ...) with file and line. Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "trace/communication/traffic.h"

namespace tandem::trace {

struct NamedText {
  std::string name, text;
};

// Reads the files of all processes of a run. Flows are of kind "gloo", those of the store
// "torch_store".
void read_socket_files(const std::vector<NamedText>& files, Traffic& traffic);

}  // namespace tandem::trace
