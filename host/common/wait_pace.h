// SPDX-License-Identifier: Apache-2.0
//
// WaitPace: how long a thread that polls for the end of a device's work pauses between two looks.
//
// Not at all in the first moments, nor around the time that the last wait of this thread took:
// steps of decoding repeat, so their ends are caught at once. Else 1/400 of what was waited so
// far, from 5 us to 200 us, so that long work does not burn a core and every wait is seen to end
// within 10 us or 1/400 of its length, and never later than 200 us behind its end. Pure: the caller
// has the clock. Threads: one.
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

  // After `waited`; zero: look again at once.
  Duration pause(Duration waited) const {
    if (waited < kFirstMoments) return {};
    const Duration near = std::min<Duration>(last_ / 10, std::chrono::milliseconds(1));
    const Duration left = last_ - near - waited;  // until the last one's end is near
    if (left <= Duration::zero() && waited < last_ + near) return {};
    const Duration pause = std::clamp(waited / 400, kLeastPause, kMostPause);
    return left > Duration::zero() ? std::min(pause, left) : pause;
  }
  void ended(Duration waited) { last_ = waited; }

 private:
  Duration last_{};
};

}  // namespace tandem
