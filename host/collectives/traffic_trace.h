// SPDX-License-Identifier: Apache-2.0
//
// What this process's transports send, for `tandem trace-comm`. In other processes nothing happens.
//
// Every message of a group's transport is a flow of kind "tandem_" + the transport's, its operation
// the collective call ("sparse_allreduce"), its phase that of the scheme ("ring all-gather"). The
// record of the process is written when it ends. Ranks are those of the group at the time of a
// message: a group that has shrunk numbers its ranks anew. Threads: any.
#pragma once

#include <cstddef>
#include <optional>

#include "collectives/frames/vocabulary.h"
#include "transport/transport.h"

namespace tandem::collectives {

// Takes `transport`'s rank into the record.
void trace_transport(const Transport& transport);

// A dense all-reduce beside its model: what the transport carries from here on to end().
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
  std::optional<transport::TrafficSnapshot> before_;  // nothing: not traced
};

}  // namespace tandem::collectives
