// SPDX-License-Identifier: Apache-2.0
//
// CommunicatorRanks: finds the rank in the whole run for each rank of an NCCL communicator.
//
// NCCL tells a plugin only its own rank in a communicator. So every process writes a note per
// communicator into the folder of records, and reads the notes of its peers. The rank of a process
// comes from its launcher (Open MPI, PMI, Slurm, torchrun). Without a launcher, or if a process has
// several GPUs, the ranks of the process's first communicator are used. In a communicator smaller
// than the launcher's world, only one rank of a process has a number. Threads: any.
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
  // Construct it on the ranks of this process when their communicator begins.
  CommunicatorRanks(std::uint64_t id, int rank, int ranks);

  int size() const { return static_cast<int>(world_.size()); }
  // The rank in the run of this rank of the communicator. Returns nothing if it has no number, or
  // if its process wrote no note within 2 s.
  std::optional<int> world_rank(int rank);

 private:
  std::string note_of(int rank) const;
  void read_note(int rank);

  const std::uint64_t id_;
  std::mutex mutex_;
  std::vector<int> world_;  // [ranks] negative: unknown
  bool has_waited_ = false;
  std::chrono::steady_clock::time_point look_again_;  // when missing notes are read again
};

// The ranks of the run in this process, and the number of all ranks known so far.
struct ProcessRanks {
  std::vector<int> own;
  int world = 1;
};
ProcessRanks process_ranks();

}  // namespace tandem::apps
