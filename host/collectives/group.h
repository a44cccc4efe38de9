// SPDX-License-Identifier: Apache-2.0
//
// Group: the ranks that make collective calls together.
//
// A group is made from a transport (host/transport/*/ have the factories). Calls of one group run
// one after another, asynchronous ones on a thread of the group. After a TransportError (or
// std::bad_alloc) the group is broken: its calls fail at once with the reason, and the calls of its
// peers fail soon. An Error that all ranks agree on (mismatched arguments, an index out of range on
// some rank) leaves the group usable. Ownership: move-only. Threads: calls from any thread, run in
// the order of the calls; abort() from any, at any time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "collectives/frames/vocabulary.h"
#include "common/deadline.h"

namespace tandem::collectives {

class Group {
 public:
  explicit Group(std::unique_ptr<Transport> transport);  // one of transport/*/
  // Aborts calls in flight and waits for the group's thread. Peers that wait for this rank fail at
  // once.
  ~Group();
  Group(Group&&) noexcept;
  Group& operator=(Group&&) noexcept;

  int rank() const;
  int world() const;
  std::string_view transport() const;  // "inproc", "mpi", "gloo", "nccl", "simulated"

  TrafficSnapshot traffic() const;

  // Fails the calls in flight and all later ones, here and soon on the other ranks (nccl: there at
  // the deadline of the call that misses this rank).
  void abort(const std::string& reason);
  bool broken() const;

  // Survivors of a broken group that call this before `deadline` form the new group, in the order
  // of their old ranks. It waits for a call that still runs here, and returns as soon as all ranks
  // known to be alive have called. The old group's measurements per bucket are lost. Afterwards the
  // old group can only be destroyed. Throws Error if the group is not broken, and under mpi, whose
  // launcher ends the job when a rank dies.
  Group shrink(Deadline deadline);

  // For the library's own use.
  class State;
  State& state() { return *state_; }
  const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace tandem::collectives
