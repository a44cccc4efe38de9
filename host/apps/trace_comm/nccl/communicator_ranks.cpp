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
#include <set>
#include <thread>

#include "trace/communication/launcher_rank.h"
#include "trace/communication/trace_variables.h"

namespace tandem::apps {
namespace {

constexpr auto kNotePatience = std::chrono::seconds(2);
constexpr auto kNotePause = std::chrono::milliseconds(5);
constexpr auto kLookAgain = std::chrono::seconds(1);  // for a note that was not there in time
constexpr int kNotRead = -1, kNoNumber = -2;          // in place of a rank of the run

// The known ranks of this process; guarded by its mutex.
struct Numbering {
  std::mutex mutex;
  std::uint64_t first = 0;           // the first communicator
  std::vector<int> own;              // ranks of the run
  std::set<std::uint64_t> launched;  // communicators of which a rank has the launcher's number
  int world = 1;
};

Numbering& numbering() {
  // never destroyed, because calls may come until the process ends
  static auto* one = new Numbering;
  return *one;
}

int number_rank(std::uint64_t id, int rank, int ranks) {
  Numbering& known = numbering();
  const std::lock_guard lock(known.mutex);
  int number = kNoNumber;
  if (const auto place = trace::launcher_rank(ranks)) {
    known.world = std::max(known.world, place->world);
    number = place->rank;
    // The launcher has one rank for all GPUs of a process: only the first rank gets it.
    if (!known.launched.insert(id).second) return kNoNumber;
  } else {
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
    : id_(id), world_(static_cast<std::size_t>(std::max(ranks, rank + 1)), kNotRead) {
  world_[rank] = number_rank(id, rank, ranks);
  const std::string path = note_of(rank), draft = path + "." + std::to_string(getpid());
  std::ofstream(draft) << world_[rank] << '\n';
  std::rename(draft.c_str(), path.c_str());
}

std::string CommunicatorRanks::note_of(int rank) const {
  const char* folder = std::getenv(trace::kRecordFolder);
  char name[64];
  std::snprintf(name, sizeof name, "/nccl-%016llx-%d.note", static_cast<unsigned long long>(id_),
                rank);
  return std::string(folder == nullptr ? "." : folder) + name;
}

std::optional<int> CommunicatorRanks::world_rank(int rank) {
  if (rank < 0 || rank >= size()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (world_[rank] == kNotRead && now >= look_again_) read_note(rank);
  if (world_[rank] < 0) return std::nullopt;
  return world_[rank];
}

// The first note that is missing is waited for; after that others are looked for now and then.
void CommunicatorRanks::read_note(int rank) {
  const auto deadline = std::chrono::steady_clock::now() + kNotePatience;
  for (;;) {
    if (std::ifstream note(note_of(rank)); note >> world_[rank]) return;
    world_[rank] = kNotRead;
    const auto now = std::chrono::steady_clock::now();
    has_waited_ = has_waited_ || now >= deadline;
    if (has_waited_) {
      look_again_ = now + kLookAgain;
      return;
    }
    std::this_thread::sleep_for(kNotePause);
  }
}

ProcessRanks process_ranks() {
  Numbering& known = numbering();
  const std::lock_guard lock(known.mutex);
  return {known.own, known.world};
}

}  // namespace tandem::apps
