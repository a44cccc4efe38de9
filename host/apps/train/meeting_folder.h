// SPDX-License-Identifier: Apache-2.0
//
// The folder where the ranks of a run find each other, and where new ranks announce themselves.
//
// Every process has a file there and keeps it locked (flock) as long as it lives; a file without a
// lock is of a process that is gone. So a folder serves run after run, whatever has died in it.
//
//   rank-N      of a rank; new-TOKEN: of a process that waits to join
//   place-TOKEN what a waiting process is told: the new group's prefix, its rank, the world
//
// Threads: one. Errors: Error("train", ...) naming the file and the system's reason; TransportError
// naming the rank that has not come.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/deadline.h"

namespace tandem::apps {

// A rank of a gloo group; prefix: what separates the group from others of the folder.
struct GroupPlace {
  std::string prefix;
  int rank = 0;
  int world = 1;
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

 private:
  void announce(const std::string& name);
  bool has_living_ranks() const;

  const std::filesystem::path path_;
  std::string token_;
  std::filesystem::path own_;  // "": not announced
  int lock_ = -1;
};

}  // namespace tandem::apps
