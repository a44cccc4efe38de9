// SPDX-License-Identifier: Apache-2.0
//
// launcher_rank(): the rank that the launcher gave to this process: Open MPI, PMI, Slurm, torchrun.
//
// Threads: any, while no thread changes the environment.
#pragma once

#include <optional>

namespace tandem::trace {

struct LauncherRank {
  int rank = 0, world = 1;
};

// Uses the launcher with the most processes, because Slurm's tasks may be whole nodes. Returns
// nothing if no launcher has started `at_least` processes.
std::optional<LauncherRank> launcher_rank(int at_least = 1);

}  // namespace tandem::trace
