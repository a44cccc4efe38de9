// SPDX-License-Identifier: Apache-2.0
//
// MeetingFolder: the folder where the ranks of a run find each other, and see who is left.
//
// Every process locks (flock) a file of its own there as long as it lives. A file without a lock
// is of a process that is gone. So a folder can serve run after run.
//
//   rank-N       of a rank        new-TOKEN      of a process that waits to join
//   place-TOKEN  its place        roll-P-N       of a rank that has seen group P fail
//   run          the newest run   roll-P-N-busy  counts while that rank is at work
//   list-P       who is left of P
//
// Threads: one; beat() from another. Errors: Error("train", ...) names the file and the reason;
// TransportError names the rank. A rank of an older run than the newest gets one, too.
#pragma once

#include <cstdint>
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

  // The same in parts, for ranks that can talk already. Each enters and tells the others its word;
  // then all start the run. Error where a rank is not seen, or its lock: at once where its file is
  // there, so the file system keeps locks to a host.
  std::string enter(int rank, Deadline deadline);
  std::string start(int rank, const std::vector<std::string>& words, Deadline deadline);

  // As a process that wants to join: waits until a rank of the run gives it a place. Error if no
  // rank lives.
  GroupPlace wait_for_place();

  // Of a run's first rank: the processes that wait; a number for one of them, at least `least`,
  // that the run has given to nobody.
  std::vector<std::string> waiting() const;
  int reserve_number(int least);
  void give(const std::string& name, const GroupPlace& place);

  bool lives(int number) const;
  // TransportError where a newer run has begun, so that this rank must not act here any more.
  void require_newest() const;

  // After `group` has failed: says that `own` has seen it, and waits until all others say so or are
  // dead. A rank that is at work by beat() has the deadline's time again. failure: the error by
  // which this rank ends; empty: it only heard of the failure.
  Roll call_roll(const GroupMembers& group, int own, const std::string& failure, Deadline deadline);
  // The same without waiting.
  void sign_roll(const GroupMembers& group, int own, const std::string& failure);
  // Of `own`, while it is at work on what may take any time.
  void beat(const GroupMembers& group, int own);
  // As call_roll(); then those that live and go on form a new group, the same on all of them.
  // TransportError if it was formed without `own`.
  GroupMembers agree(const GroupMembers& group, int own, Deadline deadline);

  // The first value that a rank gave to `key`, the same on all ranks.
  std::string decide(const std::string& key, const std::string& value);
  std::optional<std::string> decided(const std::string& key) const;

 private:
  void announce(const std::string& name);
  bool has_living_ranks() const;
  void remove_old(const std::string& prefix) const;
  void start_run(int rank, const std::string& prefix, Deadline deadline);
  Roll roll_of(const GroupMembers& group, Deadline deadline, const std::string& decision) const;

  const std::filesystem::path path_;
  std::string token_;
  std::string run_;  // the prefix of its first group; empty: in none
  int number_ = 0;
  std::uint64_t beats_ = 0;
  std::filesystem::path own_;  // "": not announced
  int lock_ = -1;
};

}  // namespace tandem::apps
