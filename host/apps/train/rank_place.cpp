// SPDX-License-Identifier: Apache-2.0
//
// Each launcher has its own variables.
#include "apps/train/rank_place.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "common/error.h"
#include "common/number.h"

namespace tandem::apps {
namespace {

struct Launcher {
  const char *rank, *world, *local_world;
  bool is_mpi;
};

constexpr std::array kLaunchers = {
    Launcher{"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", false},
    Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", true},
    Launcher{"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", true},
    Launcher{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", false},
};

std::optional<int> rank_variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::optional<int> value = number_of<int>(text);
  if (value && *value >= 0) return value;
  throw Error("train", std::string("the environment's ") + name + " is '" + text +
                           "', not a number from 0 on; set it, or unset it for a single rank");
}

std::string text_of(const char* name, std::optional<int> value) {
  return std::string(name) + (value ? " = " + std::to_string(*value) : " (not set)");
}

}  // namespace

RankPlace find_rank_place() {
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = rank_variable(launcher.rank), world = rank_variable(launcher.world);
    if (!rank && !world) continue;
    if (!rank || !world || *rank >= *world) {
      throw Error("train", "the environment's " + text_of(launcher.rank, rank) + " and " +
                               text_of(launcher.world, world) +
                               " do not fit each other; set both, ranks from 0 to one less than "
                               "their number, or neither");
    }
    return {*rank, *world, std::max(1, rank_variable(launcher.local_world).value_or(*world)),
            launcher.is_mpi};
  }
  return {};
}

bool outlives_ranks(const RankPlace& place) {
  if (!place.under_mpi || std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) return true;
  return std::getenv("OMPI_MCA_orte_enable_recovery") != nullptr;
}

std::string list_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    text += (at == 0 ? " " : ", ") + std::to_string(ranks[at]);
  }
  return text;
}

}  // namespace tandem::apps
