// SPDX-License-Identifier: Apache-2.0
//
// Makes the group of all ranks of a job, and finds the remaining ranks after a loss.
//
// Under mpirun the ranks use MPI. Otherwise, and with --elastic, they use gloo and meet in a folder
// that all can access; it also shows which ranks have died. MPI ranks work without the folder if it
// cannot be used. Threads: one; send_heartbeat() may run on another. Errors: Error("train", ...)
// about the folder; TransportError that names a rank that did not come.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/train/meeting_folder.h"
#include "apps/train/rank_place.h"
#include "collectives/group.h"
#include "transport/transport_error.h"

namespace tandem::apps {

struct MeetingOptions {
  std::string transport = "auto";  // auto, mpi, gloo
  std::string store;               // gloo: the folder
  std::string address;             // gloo: the address to listen on
  double timeout_s = 60;
  bool elastic = false;
  bool join = false;  // joins a running elastic run as a new rank
};

// The group, and MPI's environment if it is used. group() is null for a single rank that is not
// elastic.
class Ranks {
 public:
  Ranks(const RankPlace& place, const MeetingOptions& options);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  collectives::Group* group() { return group_ ? &*group_ : nullptr; }

  // Call it after a TransportError without --elastic. Returns the error for this rank, with the
  // lost ranks if the ranks met in a folder. Waits until the other ranks have noticed the failure,
  // at most for the timeout. Returns `error` itself if the folder cannot be used.
  transport::TransportError with_lost_ranks(const transport::TransportError& error);
  // Call it before this rank ends with its own error: the other ranks receive the text. Throws
  // nothing.
  void abort(const std::string& failure) noexcept;
  // Call it during work of unlimited duration: ranks that agree about a loss then wait for this
  // rank.
  void send_heartbeat() noexcept;

  // Elastic ranks. Call it after a TransportError: forms the group of the remaining ranks, even if
  // more are lost meanwhile. Returns the numbers of the lost ranks, as the launcher assigned them.
  // A rank that joined later has a number that was not used before.
  std::vector<int> shrink();

  // Whether processes wait to join; for rank 0. Errors: TransportError if a newer run has begun.
  bool ranks_wait() const;
  // Collective, including the waiting processes, which call it in their constructor: forms the
  // group with them. `check` may refuse it by an Error. Returns false on all old ranks if the new
  // group was not formed; the old group then remains.
  bool grow(const std::function<void(collectives::Group&)>& check);
  // Called by a rank that has joined, after its own check: waits for the checks of the others.
  // Throws Error if they continue without it.
  void confirm() const;

 private:
  class Mpi;
  void meet(const RankPlace& place);
  void be_member(const RankPlace& place, const std::string& prefix);
  void watch(const RankPlace& place);
  std::string first_problem(const std::function<void()>& part);
  void join();
  collectives::Group connect(const GroupPlace& place, const std::vector<int>& numbers) const;
  void connect_members();
  std::string offer(const std::vector<std::string>& names);
  std::string verdict(const std::string& prefix, const std::string& problem);

  const MeetingOptions options_;
  std::unique_ptr<Mpi> mpi_;
  std::unique_ptr<MeetingFolder> folder_;
  std::optional<collectives::Group> group_;
  GroupMembers members_;  // of the group, by rank
  int number_ = 0;        // number of this rank
};

}  // namespace tandem::apps
