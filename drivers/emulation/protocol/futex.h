// SPDX-License-Identifier: Apache-2.0
//
// Waiting on a word in memory shared between processes: spin for a moment, then sleep in the
// kernel.
//
// Cost: a wake-up that hits the spinning phase costs a cache miss; a sleeping one a system call and
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

// Spinning that learns: the budget grows while spinning pays and falls to nothing while it does not
// (long kernels, long pauses, no free core), where it would only keep a core from those who have
// work. Threads: one at a time.
class AdaptiveSpin {
 public:
  // Spins until *word != seen or the budget is used up; true when it changed.
  bool wait(const std::atomic<uint32_t>& word, uint32_t seen);

 private:
  // Above what waking an idle core of a virtual machine takes there and back (some 50 us): below
  // it, two sides that both sleep would never find that spinning pays.
  static constexpr std::chrono::nanoseconds kLargest{100'000};
  static constexpr std::chrono::nanoseconds kSmallest{500};
  static constexpr uint32_t kProbeInterval = 64;  // waits between trials once the budget is gone

  std::chrono::nanoseconds budget_ = kLargest;
  uint32_t waits_ = 0;
};

}  // namespace tandem::emulation
