// SPDX-License-Identifier: Apache-2.0
//
// A note is a file that holds a number. It appears under its name once it is whole.
#include "apps/trace_comm/nccl/communicator_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "apps/trace_comm/trace_variables.h"

namespace tandem::apps {
namespace {

constexpr auto kNotePatience = std::chrono::seconds(2);
constexpr auto kNotePause = std::chrono::milliseconds(5);

constexpr const char* kLauncherVariables[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                 {"PMI_RANK", "PMI_SIZE"},
                                                 {"SLURM_PROCID", "SLURM_NTASKS"},
                                                 {"RANK", "WORLD_SIZE"}};

int variable_or(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == 0 ? otherwise : std::atoi(text);
}

// What is known of this process; guarded by its mutex.
struct Numbering {
  std::mutex mutex;
  std::uint64_t first = 0;  // the first communicator
  std::vector<int> own;     // ranks of the run
  int world = 1;
};

Numbering& numbering() {
  static auto* one = new Numbering;  // calls come until the process ends
  return *one;
}

// -1: unknown.
int number_rank(std::uint64_t id, int rank, int ranks) {
  Numbering& known = numbering();
  const std::lock_guard lock(known.mutex);
  int number = -1, largest = 0;  // the launcher of the most: Slurm's tasks may be whole nodes
  for (const auto& [rank_name, size_name] : kLauncherVariables) {
    const int size = variable_or(size_name, 0);
    if (size < ranks || size <= largest) continue;
    largest = size;
    number = variable_or(rank_name, -1);
    known.world = std::max(known.world, size);
  }
  if (number < 0) {
    if (known.first == 0) known.first = id;
    if (known.first == id) {
      number = rank;
    } else if (known.own.size() == 1) {
      number = known.own.front();
    }
  }
  known.world = std::max({known.world, ranks, number + 1});
  if (number >= 0 && std::ranges::find(known.own, number) == known.own.end()) {
    known.own.push_back(number);
  }
  return number;
}

}  // namespace

CommunicatorRanks::CommunicatorRanks(std::uint64_t id, int rank, int ranks)
    : id_(id), world_(static_cast<std::size_t>(std::max(ranks, rank + 1)), -1) {
  world_[rank] = number_rank(id, rank, ranks);
  const std::string path = note_of(rank), draft = path + "." + std::to_string(getpid());
  std::ofstream(draft) << world_[rank] << '\n';
  std::rename(draft.c_str(), path.c_str());
}

std::string CommunicatorRanks::note_of(int rank) const {
  const char* folder = std::getenv(kRecordFolder);
  char name[64];
  std::snprintf(name, sizeof name, "/nccl-%016llx-%d.note", static_cast<unsigned long long>(id_),
                rank);
  return std::string(folder == nullptr ? "." : folder) + name;
}

std::optional<int> CommunicatorRanks::world_rank(int rank) {
  if (rank < 0 || rank >= size()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + kNotePatience;
  while (world_[rank] < 0) {
    if (std::ifstream note(note_of(rank)); note >> world_[rank]) break;
    world_[rank] = -1;
    has_waited_ = has_waited_ || std::chrono::steady_clock::now() >= deadline;
    if (has_waited_) break;
    std::this_thread::sleep_for(kNotePause);
  }
  if (world_[rank] < 0) return std::nullopt;
  return world_[rank];
}

ProcessRanks process_ranks() {
  Numbering& known = numbering();
  const std::lock_guard lock(known.mutex);
  return {known.own, known.world};
}

}  // namespace tandem::apps
