// SPDX-License-Identifier: Apache-2.0
//
// The end of MPI in a process, when the record is written; and phases.
//
// MPI_Pcontrol(0) pauses the recorder and MPI_Pcontrol(1) resumes it; a higher level begins the
// phase of that number. A process that is killed leaves no record.
#include <mpi.h>

#include "apps/trace_comm/pmpi/communicators.h"
#include "trace/communication/process_recorder.h"

using namespace tandem::apps;  // NOLINT: this file is nothing but entry points
namespace trace = tandem::trace;

namespace {

void write_mpi_record() {
  if (!trace::is_traced()) return;
  int world = 1;
  PMPI_Comm_size(MPI_COMM_WORLD, &world);
  trace::write_process_record("mpi", own_world_rank(), world);
}

}  // namespace

extern "C" {

int MPI_Finalize() {
  write_mpi_record();
  return PMPI_Finalize();
}

int MPI_Abort(MPI_Comm comm, int code) {
  write_mpi_record();
  return PMPI_Abort(comm, code);
}

int MPI_Pcontrol(const int level, ...) {
  trace::process_recorder().set_paused(level == 0);
  if (level > 1) trace::process_recorder().set_phase(level);
  return MPI_SUCCESS;
}

}  // extern "C"
