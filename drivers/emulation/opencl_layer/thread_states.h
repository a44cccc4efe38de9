// SPDX-License-Identifier: Apache-2.0
//
// Waits until the other threads of a process sleep.
//
// A thread of libxilinxopencl that ends a command frees it after the application has seen the end.
// The library does not report when it is done, but then the thread sleeps. The layer cannot
// distinguish these threads from the application's own, which may never sleep, so the wait has a
// limit.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>

namespace tandem::emulation {

// Whether every thread except `self` sleeps or has ended. `tasks` has the layout of
// /proc/self/task: one folder per thread; its file `stat` contains the thread's name in brackets,
// then its state.
bool others_asleep(const std::filesystem::path& tasks, pid_t self);

struct SleepWait {
  int confirmations;                  // the wait ends after this many answers "asleep" in a row
  std::chrono::nanoseconds max_used;  // the wait ends when the others have used this processor time
  int max_polls;  // the wait ends after this many answers, because a thread may be stopped
};

// The functions that the wait calls. On a loaded machine the threads get little processor time, so
// the limit is in their processor time, not in clock time.
struct SleepCalls {
  std::function<bool()> asleep;
  std::function<std::chrono::nanoseconds()> used;  // processor time of the other threads
  std::function<void()> pause;                     // after each answer
};

// True if the wait ended because all slept.
bool wait_until_asleep(const SleepWait& wait, const SleepCalls& calls);

// Processor time that the threads of this process have used, without the calling one.
std::chrono::nanoseconds used_by_others();

}  // namespace tandem::emulation
