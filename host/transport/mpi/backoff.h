// SPDX-License-Identifier: Apache-2.0
//
// Backoff: the pauses of a polling wait between two polls without a result.
//
// At first it polls again at once, because an answer often comes within microseconds. Then it
// yields the processor, then it sleeps for 50, 100 and 200 us. With 16 ranks on 2 cores, the rank
// that has work therefore gets the processor. The buffers of a 10 Gb/s link hold data for more than
// 200 us. Threads: one.
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
