// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the mpi transport in builds without MPI: says how to enable it.
#include "common/error.h"
#include "transport/mpi/mpi.h"

namespace tandem::transport::mpi {

bool available() { return false; }

std::string unavailable_reason() {
  return "this build has no MPI: install libopenmpi-dev and openmpi-bin (or another MPI-3), then "
         "configure again";
}

class Environment::State {};

Environment::Environment(const Options&) { throw Error("transport", unavailable_reason()); }
Environment::~Environment() = default;
int Environment::rank() const { return 0; }
int Environment::world() const { return 1; }
std::unique_ptr<Transport> connect(Environment&, Deadline) {
  throw Error("transport", unavailable_reason());
}

}  // namespace tandem::transport::mpi
