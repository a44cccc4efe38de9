// SPDX-License-Identifier: Apache-2.0
//
// Deadline: the point in monotonic time that every blocking wait of the system takes.
//
// A value type; copying is free. Only tests and idle loops use Deadline::never().
#pragma once

#include <chrono>

namespace tandem {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline after(Clock::duration duration) { return Deadline(Clock::now() + duration); }
  static Deadline never() { return Deadline(Clock::time_point::max()); }

  explicit Deadline(Clock::time_point at) : at_(at) {}

  bool expired() const { return !is_never() && Clock::now() >= at_; }
  bool is_never() const { return at_ == Clock::time_point::max(); }
  Clock::time_point time_point() const { return at_; }

  // Zero once expired; a year where the deadline is never (fits every wait API's range).
  Clock::duration remaining() const {
    if (is_never()) return std::chrono::hours(24 * 365);
    const auto left = at_ - Clock::now();
    return left > Clock::duration::zero() ? left : Clock::duration::zero();
  }

 private:
  Clock::time_point at_;
};

}  // namespace tandem
