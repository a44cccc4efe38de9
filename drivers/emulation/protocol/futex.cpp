// SPDX-License-Identifier: Apache-2.0
//
// Futex system calls, in their process-shared form.
#include "emulation/protocol/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

namespace tandem::emulation {
namespace {

void pause() { __builtin_ia32_pause(); }

uint32_t* address_of(std::atomic<uint32_t>& word) { return reinterpret_cast<uint32_t*>(&word); }

}  // namespace

void futex_wait(std::atomic<uint32_t>& word, uint32_t seen, std::chrono::nanoseconds timeout) {
  timespec limit{};
  const bool bounded = timeout >= std::chrono::nanoseconds::zero();
  if (bounded) {
    limit.tv_sec = static_cast<time_t>(timeout.count() / 1'000'000'000);
    limit.tv_nsec = static_cast<long>(timeout.count() % 1'000'000'000);
  }
  syscall(SYS_futex, address_of(word), FUTEX_WAIT, seen, bounded ? &limit : nullptr, nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, address_of(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool spin_while_equal(const std::atomic<uint32_t>& word, uint32_t seen,
                      std::chrono::nanoseconds duration) {
  constexpr int kChecksPerClockRead = 16;
  const auto end = Clock::now() + duration;
  do {
    for (int check = 0; check < kChecksPerClockRead; ++check) {
      if (word.load(std::memory_order_acquire) != seen) return true;
      pause();
    }
  } while (Clock::now() < end);
  return false;
}

bool AdaptiveSpin::wait(const std::atomic<uint32_t>& word, uint32_t seen) {
  if (word.load(std::memory_order_acquire) != seen) return true;
  if (budget_ < kSmallest) {
    if (++waits_ % kProbeInterval != 0) return false;
    budget_ = kLargest / 4;
  }
  const bool changed = spin_while_equal(word, seen, budget_);
  budget_ = changed ? std::min(kLargest, budget_ * 2) : budget_ / 4;
  return changed;
}

}  // namespace tandem::emulation
