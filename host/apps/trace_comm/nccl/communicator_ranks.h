// SPDX-License-Identifier: Apache-2.0
//
// Which rank of the run a rank of a communicator is.
//
// NCCL tells a plugin its own rank in a communicator, and not who the others are. So every process
// leaves a note per communicator in the folder of records and reads those of its peers. The rank of
// a process is what its launcher says (Open MPI, PMI, Slurm, torchrun). Without one, or where
// a process has several GPUs, the process's first communicator numbers the ranks. Of a communicator
// that is smaller than the launcher's world only one rank of a process has a number. Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tandem::apps {

class CommunicatorRanks {
 public:
  // Made by the ranks of this process as their communicator begins.
  CommunicatorRanks(std::uint64_t id, int rank, int ranks);

  int size() const { return static_cast<int>(world_.size()); }
  // Of this rank of the communicator; nothing when it has no number, or its process left no note
  // within 2 s.
  std::optional<int> world_rank(int rank);

 private:
  std::string note_of(int rank) const;
  void read_note(int rank);

  const std::uint64_t id_;
  std::mutex mutex_;
  std::vector<int> world_;  // [ranks] negative: none
  bool has_waited_ = false;
  std::chrono::steady_clock::time_point look_again_;  // for notes that were not there
};

// The ranks of the run that this process has, and how many there are in all, so far.
struct ProcessRanks {
  std::vector<int> own;
  int world = 1;
};
ProcessRanks process_ranks();

}  // namespace tandem::apps
