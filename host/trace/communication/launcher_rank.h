// SPDX-License-Identifier: Apache-2.0
//
// Which rank the launcher of this process gave it: Open MPI, PMI, Slurm, torchrun.
//
// Threads: any, while nobody sets variables.
#pragma once

#include <optional>

namespace tandem::trace {

struct LauncherRank {
  int rank = 0, world = 1;
};

// The launcher that started the most processes: Slurm's tasks may be whole nodes. Nothing: none has
// started `at_least` of them.
std::optional<LauncherRank> launcher_rank(int at_least = 1);

}  // namespace tandem::trace
