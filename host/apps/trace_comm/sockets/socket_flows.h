// SPDX-License-Identifier: Apache-2.0
//
// SocketFlows: counts what this process sends over each TCP connection.
//
// The addresses of a connection are read when the process first sends on its descriptor, which may
// be inherited. They are forgotten when the descriptor is closed or replaced. A record names both
// ends of each connection, so trace-comm finds the peer process by the record that names the same
// ends. The object is never destroyed. Threads: any; a call takes a lock.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/bounded_log.h"
#include "trace/communication/process_recorder.h"

namespace tandem::apps {

class SocketFlows {
 public:
  void sent(int descriptor, std::size_t bytes);
  void closed(int descriptor) { closed(descriptor, descriptor); }
  void closed(int first, int last);
  // Call these before and after fork(). The child starts with no counts.
  void before_fork() { mutex_.lock(); }
  void after_fork(bool is_child);
  // From now on the flows are compared with the counts of our own transport, and not added to sums.
  void set_compared();
  // Writes what has been sent since the last call. Called at the end of the process and before
  // exec(). A process without a rank, or one that has sent nothing, leaves no record.
  void write();

 private:
  using Ends = std::pair<std::string, std::string>;  // own and peer, "ADDRESS PORT"
  struct Volume {
    unsigned long long bytes = 0, writes = 0;
  };
  using Volumes = std::map<int, Volume>;  // by time window
  using Flows = std::map<Ends, Volumes>;
  struct Event {
    double time_s;
    const Flows::value_type* flow;
    std::size_t bytes;
  };

  std::FILE* new_record() const;
  void write_flows(std::FILE* file) const;
  void forget();

  std::mutex mutex_;                                           // guards the members below
  std::unordered_map<int, Flows::value_type*> by_descriptor_;  // connections of TCP
  Flows flows_;
  BoundedLog<Event> events_{trace::most_process_events()};
  bool is_compared_ = false;
  pid_t process_ = getpid();  // a child of vfork() shares all of this and writes nothing
};

SocketFlows& socket_flows();

}  // namespace tandem::apps
