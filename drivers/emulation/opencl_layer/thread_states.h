// SPDX-License-Identifier: Apache-2.0
//
// Waiting until the other threads of a process sleep.
//
// A thread of libxilinxopencl that ends a command frees it after the application has seen its end.
// Nothing says when it is done, but then it sleeps. The application's own threads look the same to
// us, and one of them may never sleep, so the wait has a limit.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>

namespace tandem::emulation {

// Whether every thread but `self` sleeps or has ended. `tasks` is laid out like /proc/self/task: a
// folder per thread, whose file `stat` gives the thread's name in brackets, then its state.
bool others_asleep(const std::filesystem::path& tasks, pid_t self);

struct SleepWait {
  int confirmations;  // that many answers "asleep" in a row end the wait
  int max_polls;      // the wait ends after that many answers, whatever they are
};

// Asks `asleep` and pauses after each answer. True if the wait ended because all slept.
bool wait_until_asleep(const SleepWait& wait, const std::function<bool()>& asleep,
                       const std::function<void()>& pause);

}  // namespace tandem::emulation
