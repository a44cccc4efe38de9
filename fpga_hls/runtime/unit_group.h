// SPDX-License-Identifier: Apache-2.0
//
// The compute units of one card that streams may link. Finds deadlocks between them, and full
// streams that must grow.
//
// A unit that has slept for some time publishes what its processes wait for. The last one to do so
// searches for a set of units that wait only for each other. A unit without a command is not part
// of such a set, because the host may still start it. Threads: any; one lock, which only units that
// have slept for milliseconds take.
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

// The state that a unit publishes when it has slept for some time.
struct Rest {
  std::vector<PublishedWait> waits;  // everything that could wake a process of the unit
  bool command;   // it runs a command, so a deadlock is an error and not its normal idle state
  bool is_final;  // no thread of a kernel can still end the waits
};

class UnitGroup {
 public:
  // Publishes the unit's state and checks for deadlocks.
  void publish(Scheduler& unit, Rest rest);
  void withdraw(Scheduler& unit);
  // What a unit that rests waits for, one text per process; empty if it does not rest, or if it can
  // go on and only has not got a processor yet.
  std::vector<std::string> waits_of(const Scheduler& unit);

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
StandingWait standing(const std::string& unit, const PublishedWait& published);

}  // namespace tandem::hls_runtime
