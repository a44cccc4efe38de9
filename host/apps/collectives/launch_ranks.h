// SPDX-License-Identifier: Apache-2.0
//
// Starts the ranks of `tandem allreduce-bench`: threads (inproc), this process (mpi, or gloo and
// nccl with --rank), or child processes (gloo and nccl without).
//
// The body runs on every rank of this process. If it throws on a rank, the group is aborted, and
// the error is rethrown after all ranks of this process have ended. Threads: call once.
#pragma once

#include <exception>
#include <functional>
#include <vector>

#include "apps/collectives/bench_options.h"
#include "collectives/group.h"

namespace tandem::apps {

using RankBody = std::function<void(collectives::Group& group)>;

// arguments: the command line of this program, for child processes. Returns the exit code.
int launch_ranks(const BenchOptions& options, const std::vector<std::string>& arguments,
                 const RankBody& body);

// errors: the error of each rank, or null. Rethrows the error of the first rank that failed itself.
// Errors of ranks that were aborted are rethrown only if there is no other error.
void rethrow_cause(const std::vector<std::exception_ptr>& errors);

}  // namespace tandem::apps
