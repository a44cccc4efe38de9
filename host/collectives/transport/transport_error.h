// SPDX-License-Identifier: Apache-2.0
//
// TransportError: a peer or the network failed during a collective call.
//
// After it the group is broken: every later call on it fails at once, on every rank that has
// noticed; the survivors may form a smaller group (Group::shrink). The message names the rank and
// the phase of the algorithm.
#pragma once

#include <string>

#include "common/error.h"

namespace tandem::collectives {

class TransportError : public Error {
 public:
  enum class Kind {
    kTimeout,   // the deadline passed before `peer` did its part
    kPeerLost,  // `peer` closed its connection, died, or left the group
    kAborted,   // some rank aborted the call; the message carries its reason
    kGarbage,   // `peer` sent what does not decode
  };

  TransportError(Kind kind, int peer, const std::string& message)
      : Error("collectives", message), kind_(kind), peer_(peer) {}

  Kind kind() const { return kind_; }
  int peer() const { return peer_; }  // -1: not known

 private:
  Kind kind_;
  int peer_;
};

}  // namespace tandem::collectives
