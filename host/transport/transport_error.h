// SPDX-License-Identifier: Apache-2.0
//
// TransportError: a peer or the network failed.
//
// The connection to the peer has failed, or the whole group (transport.h says which). Of a
// collective call it breaks the group: every later call fails at once, on every rank that has
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
    kGarbage,   // `peer` sent what does not decode
    kLocal,     // this rank failed by itself; the message names it
  };

  // module: who reports it, at the front of the text.
  TransportError(Kind kind, int peer, const std::string& message, const char* module = "transport")
      : Error(module, message), kind_(kind), peer_(peer) {}

  Kind kind() const { return kind_; }
  int peer() const { return peer_; }  // -1: not known

 private:
  Kind kind_;
  int peer_;
};

// The text of an error without the module's name ("[collectives]", "[transport]", "[sparse]"), to
// be quoted in other texts.
std::string plain_text(const std::exception& error);

// For an abort that ranks passed on, "rank 2 aborted: rank 0 aborted: why": the first one, with its
// text and its rank as peer. Any other error is returned unchanged.
TransportError first_cause(const TransportError& error);

}  // namespace tandem::transport
