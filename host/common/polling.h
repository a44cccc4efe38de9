// SPDX-License-Identifier: Apache-2.0
//
// What a thread does between two looks at a word or an event: a pause of the processor, or a sleep
// that ends in time (how long: wait_pace.h). Threads: each has its own.
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

// While it lives, sleeps of this thread end within a microsecond of their time, where the kernel's
// default is 50; nothing changes before the first sleep.
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
  int slack_ = 0;  // ns, before
};

}  // namespace tandem
