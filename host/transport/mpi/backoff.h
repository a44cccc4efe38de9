// SPDX-License-Identifier: Apache-2.0
//
// Backoff: what a polling wait does between two polls that found nothing.
//
// A few polls at once (an answer is often microseconds away), then the processor is offered to
// others, then sleeps of 50, 100 and 200 us: 16 ranks on 2 cores must not starve the one that has
// work, and at 10 Gb/s a link's buffers hold more than 200 us. Threads: one.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace tandem::transport::mpi {

class Backoff {
 public:
  void reset() { idle_polls_ = 0; }

  void pause() {
    ++idle_polls_;
    if (idle_polls_ <= kSpins) return;
    if (idle_polls_ <= kSpins + kYields) {
      sched_yield();
      return;
    }
    const int doublings = std::min(idle_polls_ - kSpins - kYields - 1, 2);
    std::this_thread::sleep_for(std::chrono::microseconds(50 << doublings));
  }

 private:
  static constexpr int kSpins = 16;
  static constexpr int kYields = 4;
  int idle_polls_ = 0;
};

}  // namespace tandem::transport::mpi
