// SPDX-License-Identifier: Apache-2.0
//
// Waiting until the other threads of a process sleep.
//
// A thread of libxilinxopencl that ends a command frees it after the application has seen its end.
// Nothing says when it is done, but then it sleeps. The application's own threads look the same to
// us, and one of them may never sleep, so the wait has a limit.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>

namespace tandem::emulation {

// Whether every thread but `self` sleeps or has ended. `tasks` is laid out like /proc/self/task: a
// folder per thread, whose file `stat` gives the thread's name in brackets, then its state.
bool others_asleep(const std::filesystem::path& tasks, pid_t self);

struct SleepWait {
  int confirmations;                  // so many answers "asleep" in a row end the wait
  std::chrono::nanoseconds max_used;  // so much processor time of the others ends it
  int max_polls;                      // so do that many answers: a thread may be stopped
};

// What the wait asks and calls. A loaded machine gives the threads little of the processor, so
// their own time counts, not the clock's.
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
