// SPDX-License-Identifier: Apache-2.0
//
// Makes the group of all ranks of a job, and tells who is left of it.
//
// Under mpirun the ranks use MPI; else, and with --elastic, they use gloo and meet in a folder that
// all of them can access. There they also see which of them have died; ranks of MPI go on without
// it where it cannot serve. Threads: one; say_at_work() from another. Errors: Error("train", ...)
// of the folder; TransportError that names the rank that has not come.
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
  std::string address;             // gloo: to listen on
  double timeout_s = 60;
  bool elastic = false;
  bool join = false;  // as a new rank of an elastic run that is under way
};

// The group, and MPI's environment if it uses it. No group: one rank that is not elastic.
class Ranks {
 public:
  Ranks(const RankPlace& place, const MeetingOptions& options);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  collectives::Group* group() { return group_ ? &*group_ : nullptr; }

  // After a TransportError, without --elastic: the error of this rank. It names the ranks that are
  // lost, where the ranks met in a folder. Waits until the others have noticed it, at most for the
  // timeout. `error` itself where the folder cannot be used.
  transport::TransportError explained(const transport::TransportError& error);
  // Before this rank ends by an error of its own: the others learn the text. Throws nothing.
  void abort(const std::string& failure) noexcept;
  // While this rank does what may take any time: others that agree on a loss wait for it.
  void say_at_work() noexcept;

  // Elastic ranks. After a TransportError: the group of those that are left, also if more are lost
  // meanwhile. Returns the numbers of those that are not, as their launcher gave them; a rank that
  // has joined has a number that the run has given to nobody.
  std::vector<int> shrink();

  // Whether processes wait to join; for rank 0. TransportError: a newer run has begun.
  bool ranks_wait() const;
  // Collective, also of the processes that wait, which are in their constructor: forms the group
  // with them. `check` may refuse it by an Error. False, on all old ranks: it did not come about,
  // and the group is as before.
  bool grow(const std::function<void(collectives::Group&)>& check);
  // Of a rank that has joined, after its own check: waits for the others'. Error if they go on
  // without it.
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
  int number_ = 0;        // this rank's
};

}  // namespace tandem::apps
