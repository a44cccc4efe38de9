// SPDX-License-Identifier: Apache-2.0
//
// The variables that each launcher sets.
#include "trace/communication/launcher_rank.h"

#include <cstdlib>

#include "common/number.h"

namespace tandem::trace {
namespace {

constexpr const char* kLauncherVariables[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                 {"PMI_RANK", "PMI_SIZE"},
                                                 {"SLURM_PROCID", "SLURM_NTASKS"},
                                                 {"RANK", "WORLD_SIZE"}};

std::optional<int> variable_of(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? std::nullopt : number_of<int>(text);
}

}  // namespace

std::optional<LauncherRank> launcher_rank(int at_least) {
  std::optional<LauncherRank> found;
  for (const auto& [rank_name, world_name] : kLauncherVariables) {
    const auto rank = variable_of(rank_name), world = variable_of(world_name);
    if (!rank || !world || *rank < 0 || *rank >= *world || *world < at_least) continue;
    if (!found || *world > found->world) found = LauncherRank{*rank, *world};
  }
  return found;
}

}  // namespace tandem::trace
