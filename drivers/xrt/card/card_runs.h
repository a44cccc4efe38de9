// SPDX-License-Identifier: Apache-2.0
//
// CardRuns: the runs of a card's compute units that together execute one command, and the wait for
// them.
//
// The derived class owns the buffers and starts the runs. A wait polls for a short while, because
// commands follow one another closely. Then it sleeps in XRT, whose waits are in milliseconds; the
// last milliseconds before a deadline pass in short sleeps. Threads: one. Errors: those of XRT; the
// caller then treats the card as lost.
#pragma once

#include <xrt/xrt_kernel.h>

#include <chrono>
#include <cstddef>
#include <vector>

#include "common/deadline.h"

namespace tandem::device::xrt_card {

// Buffers of descriptors and results grow by doubling from this size.
inline constexpr std::size_t kSmallestBufferBytes = 4096;

class CardRuns {
 public:
  enum class Progress { kRunning, kDone, kFailed };

  virtual ~CardRuns() = default;
  CardRuns(const CardRuns&) = delete;
  CardRuns& operator=(const CardRuns&) = delete;

  // kFailed once a unit has failed; others may still run.
  Progress poll();

  // Whether a unit may still write to its result.
  bool any_running() const;

  // kRunning when the deadline passes.
  Progress wait(Deadline deadline);

 protected:
  explicit CardRuns(std::size_t num_units) : runs_(num_units) {}

  xrt::run& run(std::size_t unit) { return runs_[unit].run; }
  void start_run(std::size_t unit);

 private:
  struct UnitRun {
    xrt::run run;
    bool running = false;
  };

  void sleep(std::chrono::milliseconds at_most);

  std::vector<UnitRun> runs_;
};

}  // namespace tandem::device::xrt_card
