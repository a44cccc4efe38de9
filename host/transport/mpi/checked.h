// SPDX-License-Identifier: Apache-2.0
//
// MPI's header without its C++ bindings, and its return codes as exceptions.
//
// check_mpi() throws TransportError (kPeerLost) naming the call, MPI's own text and the peer, if
// known. Threads: as MPI's.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string>

#include "transport/transport_error.h"

namespace tandem::transport::mpi {

inline std::string mpi_error_text(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return "error " + std::to_string(code);
  return std::string(text, static_cast<std::size_t>(length));
}

inline void check_mpi(int code, const char* call, int peer = -1) {
  if (code == MPI_SUCCESS) return;
  const std::string who = peer < 0 ? "" : " with rank " + std::to_string(peer);
  throw TransportError(TransportError::Kind::kPeerLost, peer,
                       std::string(call) + who + " failed: " + mpi_error_text(code));
}

}  // namespace tandem::transport::mpi
