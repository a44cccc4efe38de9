// SPDX-License-Identifier: Apache-2.0
//
// Count and time decay at the same rate, so their quotient is right from the first end on.
#include "server/queue_pace.h"

#include <algorithm>
#include <cmath>

namespace tandem::server {
namespace {

constexpr double kHalfLifeSeconds = 30;
constexpr double kMostSeconds = 120;

double decay(double seconds) { return std::exp2(-seconds / kHalfLifeSeconds); }

}  // namespace

QueuePace::Window QueuePace::window_at(Clock::TimePoint now) const {
  const double passed = num_active_ == 0 ? 0 : std::chrono::duration<double>(now - at_).count();
  const double left = decay(passed);
  // The integral of the decay over the time that has passed.
  const double added = (1 - left) * kHalfLifeSeconds / std::log(2.0);
  return {window_.ends * left, window_.seconds * left + added};
}

void QueuePace::count_begin(int count) {
  const std::lock_guard lock(mutex_);
  const Clock::TimePoint now = clock_.now();
  window_ = window_at(now);
  at_ = now;
  num_active_ += count;
}

void QueuePace::count_end() {
  const std::lock_guard lock(mutex_);
  const Clock::TimePoint now = clock_.now();
  window_ = window_at(now);
  window_.ends += 1;
  at_ = now;
  num_active_ = std::max(0, num_active_ - 1);
}

void QueuePace::count_refused(int count) {
  const std::lock_guard lock(mutex_);
  const Clock::TimePoint now = clock_.now();
  window_ = window_at(now);
  at_ = now;
  num_active_ = std::max(0, num_active_ - count);
}

int QueuePace::seconds_for(int waiting) const {
  const std::lock_guard lock(mutex_);
  const Window window = window_at(clock_.now());
  const double seconds = window.ends <= 0 ? window.seconds : waiting * window.seconds / window.ends;
  return static_cast<int>(std::clamp(std::ceil(seconds), 1.0, kMostSeconds));
}

}  // namespace tandem::server
