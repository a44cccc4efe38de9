// SPDX-License-Identifier: Apache-2.0
//
// Clock: the time source of a component, so that the same code runs in real and in virtual time.
//
// Both clocks are monotonic and share one type of time point. A virtual clock does not move until a
// caller advances it; no thread waits for it. Threads: any. Ownership: users of a clock borrow it.
// Errors: none.
#pragma once

#include <atomic>
#include <chrono>

namespace tandem {

class Clock {
 public:
  using Duration = std::chrono::steady_clock::duration;
  using TimePoint = std::chrono::steady_clock::time_point;

  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

class RealClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

inline const Clock& real_clock() {
  static const RealClock clock;
  return clock;
}

// Starts at the epoch of TimePoint.
class VirtualClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(Duration(ticks_.load())); }

  void advance(Duration duration) { ticks_ += duration.count(); }
  // Does nothing if `at` has passed.
  void advance_to(TimePoint at) {
    Duration::rep ticks = ticks_.load();
    const Duration::rep wanted = at.time_since_epoch().count();
    while (ticks < wanted && !ticks_.compare_exchange_weak(ticks, wanted)) {
    }
  }

 private:
  std::atomic<Duration::rep> ticks_{0};
};

}  // namespace tandem
