// SPDX-License-Identifier: Apache-2.0
//
// The compute units of one card that streams may link: finds deadlocks between them, and full
// streams that must grow for them to go on.
//
// A unit that has slept for a while publishes what all its processes wait for; the one that does so
// last looks for a set of units that wait for nothing but each other. Units without a command are
// not part of such a set, as the host may still start them. Threads: any; one lock, taken only by
// units that have been asleep for milliseconds.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "fpga_hls/runtime/process.h"

namespace tandem::hls_runtime {

class Scheduler;

struct PublishedWait {
  Wait wait;
  std::string process;
};

// What a unit says of itself when it has slept for a while.
struct Rest {
  std::vector<PublishedWait> waits;  // everything that could wake a process of the unit
  bool command;  // it runs one: a deadlock is an error for it, not its normal rest
  bool settled;  // no thread of a kernel's own is to be waited for
};

class UnitGroup {
 public:
  // Looks for deadlocks, too.
  void publish(Scheduler& unit, Rest rest);
  void withdraw(Scheduler& unit);

 private:
  struct Entry {
    Scheduler* unit;
    Rest rest;
  };
  using Set = std::vector<const Entry*>;
  static Set closed(Set set);
  static bool waits_inside(const Entry& entry, const Set& set);
  static void end(const Set& set);

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

// "process 'f' waits for data in stream 's' (3 of 4 held)".
std::string describe(const std::string& process, const Wait& wait);

}  // namespace tandem::hls_runtime
