// SPDX-License-Identifier: Apache-2.0
//
// What processes sent over TCP, as libtandem-gloo.so recorded it:
//   tandem-sockets 1
//   rank 0 of 2 on node-1
//   store 29500             the port of torch's store; 0: none
//   flow OWN_ADDRESS OWN_PORT PEER_ADDRESS PEER_PORT WINDOW BYTES WRITES
//   counted ...             the same: compared, and in no sum
//   event ... SECONDS BYTES WRITES     one of a flow, with its ends and its time
//   end                     before it: dropped_events COUNT
// A connection's other end is found among the files of the other ranks; what goes elsewhere is left
// out. Errors: Error("communication", ...) with file and line. Threads: pure functions.
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
