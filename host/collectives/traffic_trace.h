// SPDX-License-Identifier: Apache-2.0
//
// Records what this process's transports send, for `tandem trace-comm`. Does nothing in a program
// that is not traced.
//
// Every message is a flow. Its kind is "tandem_" and the transport's kind, its operation is the
// collective call ("sparse_allreduce"), and its phase is the phase of the scheme ("ring
// all-gather"). The process writes its record when it ends. A rank is its number in the whole world
// when the message is sent, also in a group of a part; a world that shrinks numbers its ranks
// again. Threads: any.
#pragma once

#include <cstddef>
#include <optional>

#include "collectives/frames/vocabulary.h"
#include "transport/transport.h"

namespace tandem::collectives {

// Notes the kind, the rank and the world of `transport` in the record.
void trace_transport(const Transport& transport);

// Compares a dense all-reduce with its model: counts what the transport carries from construction
// to end().
class ModelledCall {
 public:
  explicit ModelledCall(const Transport& transport);

  struct Shape {
    bool is_ring = false;  // or else halving and doubling
    std::size_t units = 0, unit_bytes = 0;
  };
  void end(const Shape& shape) const;

 private:
  const Transport& transport_;
  std::optional<transport::TrafficSnapshot> before_;  // empty: the program is not traced
};

}  // namespace tandem::collectives
