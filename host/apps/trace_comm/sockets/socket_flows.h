// SPDX-License-Identifier: Apache-2.0
//
// SocketFlows: counts what this process sends over each TCP connection.
//
// A connection is looked at when the first bytes leave a descriptor, which may be inherited, and
// forgotten when the descriptor is closed or becomes another one. The record names both ends of a
// connection: trace-comm finds the process behind the other end in that one's record. Never
// destroyed. Threads: any; a call takes a lock.
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
  // Around fork(): the child counts from nothing.
  void before_fork() { mutex_.lock(); }
  void after_fork(bool is_child);
  // The flows are then compared with the counts of our own transport, and not added to sums.
  void set_compared();
  // Writes what has been sent since the last call: at the end of the process, and before it becomes
  // another program. A process without a rank, or one that has sent nothing, leaves no record.
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

  std::mutex mutex_;                                           // guards what follows
  std::unordered_map<int, Flows::value_type*> by_descriptor_;  // connections of TCP
  Flows flows_;
  BoundedLog<Event> events_{trace::most_process_events()};
  bool is_compared_ = false;
  pid_t process_ = getpid();  // a child of vfork() shares all of this and writes nothing
};

SocketFlows& socket_flows();

}  // namespace tandem::apps
