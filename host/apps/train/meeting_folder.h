// SPDX-License-Identifier: Apache-2.0
//
// MeetingFolder: the folder where the ranks of a run find each other, and see who is left.
//
// Every process locks (flock) a file of its own there as long as it lives. A file without a lock
// is of a process that is gone. So a folder can serve run after run.
//
//   rank-N       of a rank        new-TOKEN    of a process that waits to join
//   place-TOKEN  its place        roll-P-N     of a rank that has seen group P fail
//   list-P       who is left of P
//
// Threads: one. Errors: Error("train", ...) names the file and the reason; TransportError names
// the rank.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/deadline.h"

namespace tandem::apps {

// A rank of a gloo group; prefix: what separates the group from others of the folder. number: what
// the rank is called as long as it lives; those of a run's first group are their ranks.
struct GroupPlace {
  std::string prefix;
  int rank = 0;
  int world = 1;
  int number = 0;
};

// The ranks of a group, by their numbers, ascending.
struct GroupMembers {
  std::string prefix;
  std::vector<int> numbers;
};

// What the ranks of a group say after it has failed.
struct Roll {
  std::vector<int> absent;              // they have died, or were silent until the deadline
  std::map<int, std::string> failures;  // of ranks that end by an error of their own
};

class MeetingFolder {
 public:
  explicit MeetingFolder(const std::string& path);
  ~MeetingFolder();
  MeetingFolder(const MeetingFolder&) = delete;
  MeetingFolder& operator=(const MeetingFolder&) = delete;

  // As a rank of a run that begins: waits until all ranks are there. Returns a prefix that no group
  // has had.
  std::string meet(int rank, int world, Deadline deadline);

  // As a process that wants to join: waits until a rank of the run gives it a place. Error if no
  // rank lives.
  GroupPlace wait_for_place();

  // Of a run's first rank: the processes that wait.
  std::vector<std::string> waiting() const;
  void give(const std::string& name, const GroupPlace& place);

  bool lives(int number) const;

  // After `group` has failed: says that `own` has seen it, and waits until all others say so or are
  // dead. failure: the error by which this rank ends; empty: it only heard of the failure.
  Roll call_roll(const GroupMembers& group, int own, const std::string& failure, Deadline deadline);
  // The same without waiting.
  void sign_roll(const GroupMembers& group, int own, const std::string& failure);
  // As call_roll(); then those that live form a new group, the same on all of them. TransportError
  // if it was formed without `own`.
  GroupMembers agree(const GroupMembers& group, int own, Deadline deadline);

  // The first value that a rank gave to `key`, the same on all ranks.
  std::string decide(const std::string& key, const std::string& value);
  std::optional<std::string> decided(const std::string& key) const;

 private:
  void announce(const std::string& name);
  bool has_living_ranks() const;
  void remove_old(const std::string& prefix) const;

  const std::filesystem::path path_;
  std::string token_;
  std::filesystem::path own_;  // "": not announced
  int lock_ = -1;
};

}  // namespace tandem::apps
