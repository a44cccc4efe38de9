// SPDX-License-Identifier: Apache-2.0
//
// A handler of the timer that is queued already cannot be cancelled, so each looks at what is set.
#include "server/http/moving_deadline.h"

#include <utility>

namespace tandem::server::http {

void MovingDeadline::set(std::chrono::milliseconds timeout, std::function<void()> passed) {
  deadline_ = Clock::now() + timeout;
  if (!is_waiting_ || timer_.expiry() > deadline_) wait(std::move(passed));
}

void MovingDeadline::close() {
  clear();
  is_waiting_ = false;
  timer_.cancel();
}

void MovingDeadline::wait(std::function<void()> passed) {
  is_waiting_ = true;
  timer_.expires_at(deadline_);
  timer_.async_wait([this, passed = std::move(passed)](const auto& error) mutable {
    if (error || !is_waiting_ || timer_.expiry() > Clock::now()) return;
    is_waiting_ = false;
    if (deadline_ == Clock::time_point::max()) return;
    if (deadline_ > Clock::now()) return wait(std::move(passed));
    clear();
    passed();
  });
}

}  // namespace tandem::server::http
