// SPDX-License-Identifier: Apache-2.0
//
// PeerAddress: the origin of a connection, for limits, the log and the operator's routes.
#pragma once

#include <string>

#include "server/http/exchange.h"
#include "server/http/stream.h"

namespace tandem::server::http {

struct PeerAddress {
  std::string group;  // connections with the same group are counted together: an IPv4 address, an
                      // IPv6 network of 64 bits; empty: none
  Peer shown;
};

// A peer that has already gone has no address and is not local.
PeerAddress peer_address(Socket& socket);

}  // namespace tandem::server::http
