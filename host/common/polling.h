// SPDX-License-Identifier: Apache-2.0
//
// The pauses of a polling thread between two checks: a pause instruction, or a short sleep.
//
// wait_pace.h says how long to sleep. Threads: each thread has its own objects.
#pragma once

#include <sys/prctl.h>

#include <chrono>
#include <thread>

namespace tandem {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// While an object exists, sleeps of this thread end within 1 us of their time; the kernel's default
// is 50 us. The timer slack of the thread changes with the first sleep.
class ShortSleeps {
 public:
  ShortSleeps() = default;
  ~ShortSleeps() {
    if (slack_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_));
  }
  ShortSleeps(const ShortSleeps&) = delete;
  ShortSleeps& operator=(const ShortSleeps&) = delete;

  void sleep(std::chrono::nanoseconds duration) {
    if (slack_ == 0) {
      slack_ = prctl(PR_GET_TIMERSLACK);
      prctl(PR_SET_TIMERSLACK, 1000ul);
    }
    std::this_thread::sleep_for(duration);
  }

 private:
  int slack_ = 0;  // the thread's earlier timer slack in ns
};

}  // namespace tandem
