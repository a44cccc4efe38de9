// SPDX-License-Identifier: Apache-2.0
//
// A leaky bucket per caller, as the time until which it is full.
#include "server/access/refusal_delay.h"

#include <algorithm>

namespace tandem::server {

void RefusalDelay::apply(const std::string& caller, http::Response& answer) {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  constexpr milliseconds kEach{1000 / kPerSecond};
  constexpr milliseconds kFree = kBurst * kEach;
  const std::lock_guard lock(mutex_);
  const Clock::TimePoint now = clock_.now();
  Clock::TimePoint& paid_until = paid_until_.try_emplace(caller, now).first->second;
  paid_until = std::min(std::max(paid_until, now) + kEach, now + kFree + kMost);
  const auto delay = duration_cast<milliseconds>(paid_until - now) - kFree;
  const auto num_delayed = static_cast<std::size_t>(delayed_.use_count() - 1);
  if (delay <= milliseconds(0) || num_delayed >= max_delayed_) return;
  answer.delay = delay;
  answer.held = delayed_;
}

}  // namespace tandem::server
