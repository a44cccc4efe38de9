// SPDX-License-Identifier: Apache-2.0
//
// The mpi transport: ranks are processes of one MPI job (any MPI-3; tested with OpenMPI 4.1).
//
// An Environment starts MPI (MPI_THREAD_SERIALIZED or better) unless the program has, and ends it
// when it goes; one per process, on the main thread, outliving its transports. Every MPI call of
// ours is made under one lock, so a program that calls MPI itself from another thread at the same
// time must initialise it with MPI_THREAD_MULTIPLE first.
// Waits never block inside MPI: they poll, then yield, then sleep up to 200 us, so that more ranks
// than cores work. Everything in flight progresses in any wait of the transport, and only there.
// Messages above `max_part_bytes` travel in parts. Tags are folded where MPI_TAG_UB is below 2^25
// (at least 2^13 stay apart); messages whose folded tags agree match in the order sent and asked.
// abort(): a message to every peer; whoever waits throws within a poll, the others at their next
// wait. MPI cannot take back what is in flight: such payloads are kept until the process ends.
// A rank that dies: the launcher's rules. OpenMPI 4.1's mpirun kills all ranks when one is killed
// by a signal, exits with an error or exits without MPI_Finalize. With `--enable-recovery` (or
// `--mca orte_abort_on_non_zero_status 0`, except for the last cause) the others run on and get an
// error by their deadlines; but MPI-3 cannot leave a rank out, so shrink() throws Error in every
// case. Groups that survive: gloo, inproc, nccl.
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
  std::size_t max_part_bytes = std::size_t{1} << 30;  // of one MPI message; at most 2^31 - 1
  // How long the last owner waits for the other ranks before it leaves without MPI_Finalize, which
  // would block for ever on a rank that hangs; the launcher then ends the job.
  std::chrono::milliseconds leave_timeout{10'000};
};

class Environment {
 public:
  // Blocks as MPI_Init does. Throws Error where MPI is absent, was started with too low a thread
  // level, or has been ended.
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

// A transport of all ranks with a communicator of its own; collective, in the same order on all
// ranks. Throws TransportError (kTimeout) when some rank has not called it by the deadline.
std::unique_ptr<Transport> connect(Environment& environment,
                                   Deadline deadline = Deadline::after(std::chrono::minutes(1)));

}  // namespace tandem::transport::mpi
