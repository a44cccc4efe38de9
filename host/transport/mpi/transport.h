// SPDX-License-Identifier: Apache-2.0
//
// The mpi transport with its own communicator; internal to the folder (see mpi.h).
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "transport/mpi/checked.h"
#include "transport/transport.h"

namespace tandem::transport::mpi {

struct TransportParts {
  MPI_Comm communicator;  // becomes the transport's
  std::mutex& lock;       // of all MPI calls; outlives the transport
  std::size_t max_part_bytes;
  std::string node_name;
  int rank;
  int world;
};

std::unique_ptr<Transport> make_mpi_transport(const TransportParts& parts);

}  // namespace tandem::transport::mpi
