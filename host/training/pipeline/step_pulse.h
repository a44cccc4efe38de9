// SPDX-License-Identifier: Apache-2.0
//
// StepPulse: keeps ranks that wait for the end of a step's passes from giving the others up.
//
// A freed rank has no passes, and one whose layers are frozen ends early: both may wait for longer
// than the timeout. So every rank sends all others a word at most every quarter of the timeout,
// between its passes and its sums, and one when its passes are over. finish() waits for the last.
// A rank is lost after three timeouts of silence: it may wait for a message for one timeout and
// compute a pass for another, and its last word may be a quarter older. Cost: a message from every
// rank to every other one per step. Ownership: borrows the transport. Without finish() the
// destructor aborts it. Threads: one. Errors: TransportError.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/transport.h"

namespace tandem::training {

class StepPulse {
 public:
  // transport: null for one rank. call: a number of the group's that nothing else uses.
  StepPulse(transport::Transport* transport, std::uint32_t call, std::chrono::milliseconds timeout);
  ~StepPulse();
  StepPulse(const StepPulse&) = delete;
  StepPulse& operator=(const StepPulse&) = delete;

  // Between two passes, and between the sums of two layers.
  void beat();
  // After the last one. Waits until the passes of all ranks are over.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  transport::Tag tag(std::uint32_t number) const;
  void tell(std::byte word);

  transport::Transport* transport_;
  const std::uint32_t call_;
  const std::chrono::milliseconds timeout_;
  std::vector<std::unique_ptr<transport::Exchange>> sends_;
  std::uint32_t told_ = 0;  // words so far
  Clock::time_point last_ = Clock::now();
  bool finished_ = false;
};

}  // namespace tandem::training
