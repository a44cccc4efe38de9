// SPDX-License-Identifier: Apache-2.0
//
// Finds this process's rank in a job, and makes the group of all ranks.
//
// A job is started by mpirun, torchrun, srun, or anything that sets RANK and WORLD_SIZE. Under
// mpirun the ranks use MPI; else, and with --elastic, they use gloo and meet in a folder that all
// of them can access. Errors: Error("train", ...) if only some of the variables are set.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "collectives/group.h"

namespace tandem::apps {

struct RankPlace {
  int rank = 0;
  int world = 1;
  int local_world = 1;  // ranks of this host
  std::string job;      // a name for it, where the launcher gives one
  bool under_mpi = false;
};

// By the environment; the first of torchrun's, Open MPI's, MPICH's and Slurm's variables.
RankPlace find_rank_place();

struct MeetingOptions {
  std::string transport = "auto";  // auto, mpi, gloo
  std::string store;               // gloo: the folder
  std::string address;             // gloo: to listen on
  double timeout_s = 60;
  bool elastic = false;
};

// The group, and MPI's environment if it uses it. `group` is empty for one rank.
class Ranks {
 public:
  Ranks(const RankPlace& place, const MeetingOptions& options);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  collectives::Group* group() { return group_ ? &*group_ : nullptr; }
  // After a TransportError: the group of those that are left.
  void shrink(double timeout_s);

 private:
  class Mpi;
  std::unique_ptr<Mpi> mpi_;
  std::optional<collectives::Group> group_;
};

}  // namespace tandem::apps
