// SPDX-License-Identifier: Apache-2.0
//
// The compute units of one card that streams may link: finds deadlocks between them.
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

class UnitGroup {
 public:
  // `waits`: everything that could wake a process of `unit`. `hopeful`: a deadlock is an error for
  // this unit (it runs a command), not its normal rest. Looks for deadlocks.
  void publish(Scheduler& unit, std::vector<PublishedWait> waits, bool command);
  void withdraw(Scheduler& unit);

 private:
  struct Entry {
    Scheduler* unit;
    std::vector<PublishedWait> waits;
    bool command;
  };
  bool waits_inside(const Entry& entry, const std::vector<const Entry*>& set) const;
  void resolve(const std::vector<const Entry*>& set);

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

// "process 'f' waits for data in stream 's' (3 of 4 held)".
std::string describe(const std::string& process, const Wait& wait);

}  // namespace tandem::hls_runtime
