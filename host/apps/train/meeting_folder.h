// SPDX-License-Identifier: Apache-2.0
//
// MeetingFolder: a shared folder where the ranks of a run find each other, and detect lost ranks.
//
// Every process holds a lock (flock) on its own file there until it ends. A file without a lock
// belongs to a process that has ended, so one folder can serve many runs.
//   rank-N       file of a rank          new-TOKEN      file of a process that waits to join
//   place-TOKEN  the place given to it   report-P-N       rank N reports that group P has failed
//   run          the newest run          report-P-N-busy  a counter; grows while that rank works
//   list-P       remaining ranks of P
// Threads: one; send_heartbeat() may run on another. Errors: Error("train", ...) with file and
// reason; TransportError that names a rank, also on a rank of an older run than the newest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/deadline.h"

namespace tandem::apps {

// The place of a rank in a gloo group. prefix: distinguishes the group from others in the folder.
// number: identifies the rank for its whole life; in a run's first group it equals the rank.
struct GroupPlace {
  std::string prefix;
  int rank = 0;
  int world = 1;
  int number = 0;
};

// The numbers of a group's ranks, ascending.
struct GroupMembers {
  std::string prefix;
  std::vector<int> numbers;
};

// The reports of a group's ranks after it has failed.
struct FailureReports {
  std::vector<int> absent;  // ranks that have ended, or did not report before the deadline
  std::map<int, std::string> failures;  // texts of ranks that end with their own error
};

class MeetingFolder {
 public:
  explicit MeetingFolder(const std::string& path);
  ~MeetingFolder();
  MeetingFolder(const MeetingFolder&) = delete;
  MeetingFolder& operator=(const MeetingFolder&) = delete;

  // Called by each rank at the start of a run: waits for all ranks. Returns a prefix that no
  // earlier group had.
  std::string meet(int rank, int world, Deadline deadline);

  // meet() in two parts, for ranks that can already communicate. enter() returns a token. The
  // caller sends it to the other ranks and passes the tokens of all ranks, in rank order, to
  // start(). Errors: Error if a rank is not seen before the deadline. If its file is there but its
  // lock is not visible, the error comes at once, because the file system keeps locks local to a
  // host.
  std::string enter(int rank, Deadline deadline);
  std::string start(int rank, const std::vector<std::string>& words, Deadline deadline);

  // Called by a process that wants to join: waits until a rank of the run gives it a place. Errors:
  // Error if no rank is alive.
  GroupPlace wait_for_place();

  // Called by the run's first rank: the processes that wait; and a number for one of them, at least
  // `least`, that the run has not used before.
  std::vector<std::string> waiting() const;
  int reserve_number(int least);
  // Gives a place to one of the processes of waiting().
  void give(const std::string& name, const GroupPlace& place);

  // Whether the process of this rank still holds its lock.
  bool rank_is_alive(int number) const;
  // Throws TransportError if a newer run has begun; this rank must then stop.
  void require_newest() const;

  // Called after `group` has failed: reports it for rank `own`, and waits until all others have
  // reported or ended. Its time begins when the own report is written, and that of a rank that
  // works (send_heartbeat()) is extended. failure: the error with which this rank ends; empty:
  // another rank caused the failure.
  FailureReports collect_reports(const GroupMembers& group, int own, const std::string& failure,
                                 Deadline deadline);
  // The same without waiting.
  void report_failure(const GroupMembers& group, int own, const std::string& failure);
  // Called by `own` during work of unlimited duration.
  void send_heartbeat(const GroupMembers& group, int own);
  // As collect_reports(); the ranks that are alive and continue then form a new group, the same on
  // all of them. Throws TransportError if that group does not contain `own`.
  GroupMembers agree(const GroupMembers& group, int own, Deadline deadline);

  // Returns the first value that any rank gave to `key`, the same on all ranks.
  std::string decide(const std::string& key, const std::string& value);
  std::optional<std::string> decided(const std::string& key) const;

 private:
  void announce(const std::string& name);
  bool has_living_ranks() const;
  void remove_old(const std::string& prefix) const;
  void start_run(int rank, const std::string& prefix, Deadline deadline);
  FailureReports reports_of(const GroupMembers& group, Deadline deadline,
                            const std::string& decision) const;

  const std::filesystem::path path_;
  std::string token_;
  std::string run_;  // prefix of the run's first group; empty: not in a run
  int number_ = 0;
  std::uint64_t heartbeats_ = 0;
  std::filesystem::path own_;  // "": no file yet
  int lock_ = -1;
};

}  // namespace tandem::apps
