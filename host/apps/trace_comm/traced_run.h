// SPDX-License-Identifier: Apache-2.0
//
// Runs a program with tracing libraries, and reads the records of its processes.
//
// MPI: libtandem-pmpi.so is preloaded and stands in front of the MPI library (its profiling
// interface). NCCL: libnccl-profiler-tandem.so is named as NCCL's profiler plugin. Copies of GPUs:
// CUDA's driver loads libtandem-cuda-copies.so, which reads CUPTI's records. gloo:
// libtandem-gloo.so is preloaded and counts what leaves over TCP. Our transports and our emulated
// cards find in the environment that they are traced. Processes on other machines need the same
// paths and variables (mpirun -x LD_PRELOAD ...). The records lie in a folder beside the outputs,
// which is removed. Threads: one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trace/communication/collective_model.h"
#include "trace/communication/traffic.h"

namespace tandem::apps {

// "mpi", "nccl", "cuda", "gloo", "transport", "xrt".
const std::vector<std::string>& traced_kinds();

struct TracedRunOptions {
  std::vector<std::string> command;
  std::string prefix;        // prefix of the output files
  std::string kind = "all";  // or one of traced_kinds()
  trace::CollectiveAlgorithm algorithm = trace::CollectiveAlgorithm::kRing;
  double window_s = 0;
  bool count_transport = false;
  std::size_t most_events = 0;  // that each process keeps; 0: no events are wanted
};

struct TracedRun {
  trace::Traffic traffic;
  int exit_code = 0;  // of the program; 128 + N if signal N ended it
};

// Throws Error("trace-comm", ...) if a library is missing. If the program cannot be started, or no
// process has written a record, prints why and throws ExitStatus: 127 or 126 as a shell, the
// program's code, or 2 if that is 0.
TracedRun run_traced(const TracedRunOptions& options);

}  // namespace tandem::apps
