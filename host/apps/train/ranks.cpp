// SPDX-License-Identifier: Apache-2.0
//
// gloo's ranks of one job meet under the job's name, so a folder serves job after job.
#include "apps/train/ranks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "common/error.h"
#include "transport/gloo/gloo.h"
#include "transport/mpi/mpi.h"

namespace tandem::apps {
namespace {

struct Launcher {
  const char *rank, *world, *local_world, *job;
  bool is_mpi;
};

constexpr std::array kLaunchers = {
    Launcher{"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID", false},
    Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
             "PMIX_NAMESPACE", true},
    Launcher{"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "PMI_KVS", true},
    Launcher{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_JOB_ID", false},
};

std::optional<int> number_of(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view view(text);
  int number = 0;
  const auto parsed = std::from_chars(view.data(), view.data() + view.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != view.data() + view.size() || number < 0) {
    throw Error("train",
                std::string("the environment's ") + variable + " is '" + text + "', not a number");
  }
  return number;
}

// Letters, digits, '.', '_' and '-' only.
std::string as_prefix(const std::string& job) {
  std::string prefix = "train-";
  for (const char c : job) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_';
    prefix += is_plain ? c : '-';
  }
  return prefix;
}

Deadline deadline_of(double timeout_s) {
  return Deadline::after(std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s * 1000)));
}

std::unique_ptr<transport::Transport> meet(const RankPlace& place, const MeetingOptions& options) {
  if (options.store.empty()) {
    throw Error("train", "ranks that use gloo meet in a folder; name one by --store or --out");
  }
  transport::gloo::Options gloo;
  gloo.rank = place.rank;
  gloo.world = place.world;
  gloo.store_directory = options.store;
  gloo.prefix = as_prefix(place.job);
  gloo.address = options.address;
  gloo.deadline = deadline_of(options.timeout_s);
  return transport::gloo::connect(gloo);
}

}  // namespace

RankPlace find_rank_place() {
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = number_of(launcher.rank), world = number_of(launcher.world);
    if (!rank && !world) continue;
    if (!rank || !world || *rank >= *world) {
      throw Error("train", std::string("the environment's ") + launcher.rank + " and " +
                               launcher.world + " do not fit each other");
    }
    const char* job = std::getenv(launcher.job);
    return {*rank, *world, std::max(1, number_of(launcher.local_world).value_or(*world)),
            job == nullptr ? "" : job, launcher.is_mpi};
  }
  return {};
}

class Ranks::Mpi {
 public:
  transport::mpi::Environment environment;
};

Ranks::Ranks(const RankPlace& place, const MeetingOptions& options) {
  if (place.world == 1) return;
  const bool takes_mpi = place.under_mpi && !options.elastic && transport::mpi::available();
  if (options.transport == "mpi" || (options.transport == "auto" && takes_mpi)) {
    mpi_ = std::make_unique<Mpi>();
    group_.emplace(transport::mpi::connect(mpi_->environment, deadline_of(options.timeout_s)));
  } else {
    group_.emplace(meet(place, options));
  }
}

Ranks::~Ranks() = default;

void Ranks::shrink(double timeout_s) { *group_ = group_->shrink(deadline_of(timeout_s)); }

}  // namespace tandem::apps
