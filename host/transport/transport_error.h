// SPDX-License-Identifier: Apache-2.0
//
// TransportError: a peer or the network failed.
//
// Either the connection to the peer has failed, or the whole group (see transport.h). In a
// collective call it breaks the group: every later call fails at once on every rank that has
// noticed, and the survivors may form a smaller group (Group::shrink). The message names the rank,
// and the phase of the algorithm.
#pragma once

#include <exception>
#include <string>

#include "common/error.h"

namespace tandem::transport {

class TransportError : public Error {
 public:
  enum class Kind {
    kTimeout,   // the deadline passed before `peer` did its part
    kPeerLost,  // `peer` closed its connection, died, or left the group
    kAborted,   // some rank aborted the call; the message carries its reason
    kGarbage,   // `peer` sent bytes that do not decode
    kLocal,     // this rank itself failed; the message names the failure
  };

  // module: the reporter, at the front of the text.
  TransportError(Kind kind, int peer, const std::string& message, const char* module = "transport")
      : Error(module, message), kind_(kind), peer_(peer) {}

  Kind kind() const { return kind_; }
  int peer() const { return peer_; }  // -1: not known

 private:
  Kind kind_;
  int peer_;
};

// The text of an error without the module's name ("[collectives]", "[transport]", "[sparse]"), for
// use in other texts.
std::string plain_text(const std::exception& error);

// Ranks may pass on an abort: "rank 2 aborted: rank 0 aborted: why". Returns the first abort, with
// its text and its rank as peer. Returns any other error unchanged.
TransportError first_cause(const TransportError& error);

}  // namespace tandem::transport
