// SPDX-License-Identifier: Apache-2.0
//
// Waits on a word in memory shared between processes: spins for a moment, then sleeps in the
// kernel.
//
// Cost: a wake-up during the spin costs a cache miss; a wake-up from sleep costs a system call and
// a context switch. Threads: any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tandem::emulation {

using Clock = std::chrono::steady_clock;

// Sleeps until *word != seen, a wake-up or `timeout` (negative: forever). May return early.
void futex_wait(std::atomic<uint32_t>& word, uint32_t seen, std::chrono::nanoseconds timeout);
void futex_wake_all(std::atomic<uint32_t>& word);

// Spins until *word != seen or `duration` is over; true when it changed.
bool spin_while_equal(const std::atomic<uint32_t>& word, uint32_t seen,
                      std::chrono::nanoseconds duration);

// Spins for a time that adapts. It grows while spinning is successful. It falls to zero while
// spinning is useless (long kernels, long pauses, no free core), so that it takes no core from
// other work. Threads: one at a time.
class AdaptiveSpin {
 public:
  // Spins until *word != seen or the budget is used up; true when it changed.
  bool wait(const std::atomic<uint32_t>& word, uint32_t seen);

 private:
  // Longer than it takes to wake an idle core of a virtual machine and to be woken (some 50 us).
  // With less, two sides that both sleep would never measure that spinning is faster.
  static constexpr std::chrono::nanoseconds kLargest{100'000};
  static constexpr std::chrono::nanoseconds kSmallest{500};
  static constexpr uint32_t kProbeInterval = 64;  // waits between trials once the budget is used up

  std::chrono::nanoseconds budget_ = kLargest;
  uint32_t waits_ = 0;
};

}  // namespace tandem::emulation
