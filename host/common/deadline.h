// SPDX-License-Identifier: Apache-2.0
//
// Deadline: the point in monotonic time that every blocking wait of the system takes.
//
// A value type; copying is free. A deadline uses real time, or the clock that it was made with: a
// waiter under a virtual clock advances that clock. Deadline::never() waits forever; use it only in
// tests and idle loops. Ownership: borrows its clock.
#pragma once

#include <chrono>

#include "common/clock.h"

namespace tandem {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline after(Clock::duration duration) { return Deadline(Clock::now() + duration); }
  static Deadline after(Clock::duration duration, const tandem::Clock& clock) {
    return Deadline(clock.now() + duration, &clock);
  }
  static Deadline never() { return Deadline(Clock::time_point::max()); }

  // `clock`: null for real time.
  explicit Deadline(Clock::time_point at, const tandem::Clock* clock = nullptr)
      : at_(at), clock_(clock) {}

  bool expired() const { return !is_never() && now() >= at_; }
  bool is_never() const { return at_ == Clock::time_point::max(); }
  // The deadline in real time, for waits of the standard library. It is in real time even if the
  // deadline has another clock.
  Clock::time_point time_point() const {
    return clock_ == nullptr || is_never() ? at_ : Clock::now() + remaining();
  }

  // The remaining time: zero once expired; a year if the deadline never passes, because this fits
  // the range of every wait function.
  Clock::duration remaining() const {
    if (is_never()) return std::chrono::hours(24 * 365);
    const auto left = at_ - now();
    return left > Clock::duration::zero() ? left : Clock::duration::zero();
  }

 private:
  Clock::time_point now() const { return clock_ != nullptr ? clock_->now() : Clock::now(); }

  Clock::time_point at_;
  const tandem::Clock* clock_;
};

}  // namespace tandem
