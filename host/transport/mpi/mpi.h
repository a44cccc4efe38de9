// SPDX-License-Identifier: Apache-2.0
//
// The mpi transport: ranks are processes of one MPI job (any MPI-3; tested with OpenMPI 4.1).
//
// Every MPI call of this library runs under one lock. A program that calls MPI itself from another
// thread at the same time must initialise it with MPI_THREAD_MULTIPLE first. Waits never block
// inside MPI: they poll, then yield, then sleep up to 200 us, so more ranks than cores work.
// Everything in flight progresses in any wait of the transport, and only there. If a rank dies, the
// launcher decides what happens: mpirun of OpenMPI 4.1 kills all ranks when one is killed by a
// signal, exits with an error or exits without MPI_Finalize. MPI-3 cannot leave a rank out, so
// shrink() always throws Error. Groups that survive: gloo, inproc, nccl.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "common/deadline.h"
#include "transport/transport.h"

namespace tandem::transport::mpi {

bool available();
std::string unavailable_reason();  // empty where available

struct Options {
  // of one MPI message; at most 2^31 - 1; longer messages travel in parts
  std::size_t max_part_bytes = std::size_t{1} << 30;
  // The time that the last owner waits for the other ranks. Then it leaves without MPI_Finalize,
  // which would block forever if a rank hangs; the launcher then ends the job.
  std::chrono::milliseconds leave_timeout{10'000};
};

// Starts MPI (MPI_THREAD_SERIALIZED or better) unless the program has started it, and ends it in
// the destructor. One per process, on the main thread; it outlives its transports.
class Environment {
 public:
  // Blocks as MPI_Init does. Throws Error if MPI is absent, has too low a thread level, or was
  // ended.
  explicit Environment(const Options& options = {});
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  int rank() const;   // in MPI_COMM_WORLD
  int world() const;  // its size

  class State;
  State& state() { return *state_; }  // for connect()

 private:
  std::unique_ptr<State> state_;
};

// A transport of all ranks, with its own communicator; collective, in the same order on all ranks.
// Throws TransportError (kTimeout) if some rank has not called it by the deadline.
//
// Tags are folded if MPI_TAG_UB is below 2^25 (at least 2^13 stay distinct); messages with equal
// folded tags match in order. abort() sends a message to every peer: a waiting peer throws within a
// poll, the others at their next wait. MPI cannot cancel transfers in flight, so their payloads are
// kept until the process ends. With mpirun `--enable-recovery` (or `--mca
// orte_abort_on_non_zero_status 0`, except for an exit without MPI_Finalize) the other ranks of a
// dead one continue and get an error by their deadlines.
std::unique_ptr<Transport> connect(Environment& environment,
                                   Deadline deadline = Deadline::after(std::chrono::minutes(1)));

}  // namespace tandem::transport::mpi
