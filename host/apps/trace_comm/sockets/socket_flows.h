// SPDX-License-Identifier: Apache-2.0
//
// SocketFlows: what this process sends over each TCP connection.
//
// A connection is looked at when the first bytes leave it, and forgotten when close() closes it.
// The record names both ends of a connection: trace-comm finds the process behind the other end in
// that one's record. Never destroyed. Threads: any; a call takes a lock.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace tandem::apps {

class SocketFlows {
 public:
  void sent(int descriptor, std::size_t bytes);
  void closed(int descriptor);
  // Around fork(): the child counts from nothing.
  void before_fork() { mutex_.lock(); }
  void after_fork(bool is_child);
  // Flows are then compared with what a transport of ours counts, and in no sum.
  void set_compared();
  // Once per process; later calls do nothing. A process without a rank, or one that has sent
  // nothing, leaves no record.
  void write();

 private:
  using Ends = std::pair<std::string, std::string>;  // own and peer, "ADDRESS PORT"
  struct Volume {
    unsigned long long bytes = 0, writes = 0;
  };
  using Volumes = std::map<int, Volume>;  // by time window

  std::mutex mutex_;                                 // guards what follows
  std::unordered_map<int, Volumes*> by_descriptor_;  // connections of TCP
  std::map<Ends, Volumes> flows_;
  bool is_compared_ = false, is_written_ = false;
  pid_t process_ = getpid();  // a child of vfork() shares all of this and writes nothing
};

SocketFlows& socket_flows();

}  // namespace tandem::apps
