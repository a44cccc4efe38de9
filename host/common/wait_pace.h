// SPDX-License-Identifier: Apache-2.0
//
// WaitPace: computes the pauses between two checks of a thread that polls a device.
//
// There is no pause in the first 100 us, nor near the time that the last wait took: decode steps
// repeat, so their ends are seen at once. Else a pause is 1/400 of the time waited so far, from
// 5 us to 200 us. Long work then does not keep a core busy, and the end of a wait is seen within
// 10 us or 1/400 of its length, at most 200 us late. Pure: the caller has the clock. Threads: one.
#pragma once

#include <algorithm>
#include <chrono>

namespace tandem {

class WaitPace {
 public:
  using Duration = std::chrono::nanoseconds;

  static constexpr Duration kFirstMoments = std::chrono::microseconds(100);
  static constexpr Duration kLeastPause = std::chrono::microseconds(5);
  static constexpr Duration kMostPause = std::chrono::microseconds(200);

  // The next pause after a wait of `waited`; zero: check again at once.
  Duration pause(Duration waited) const {
    if (waited < kFirstMoments) return {};
    const Duration near = std::min<Duration>(last_ / 10, std::chrono::milliseconds(1));
    // time left until shortly before the length of the last wait
    const Duration left = last_ - near - waited;
    if (left <= Duration::zero() && waited < last_ + near) return {};
    const Duration pause = std::clamp(waited / 400, kLeastPause, kMostPause);
    return left > Duration::zero() ? std::min(pause, left) : pause;
  }
  void ended(Duration waited) { last_ = waited; }

 private:
  Duration last_{};
};

}  // namespace tandem
