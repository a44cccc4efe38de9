// SPDX-License-Identifier: Apache-2.0
//
// Ends a thread from outside while it computes in code of its own, such as a kernel without end
// that nobody waits for any more.
//
// A signal asks the thread; its handler ends it where the interrupted instruction lies in the given
// code, so no lock of the C library or of the card is held. Anywhere else the thread goes on and is
// to be asked again. Nothing on its stacks is unwound, and they are never given back: the caller
// bounds how often that happens. Threads: watch_thread() is the thread's own, the rest for any.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace tandem::emulation {

struct CodeRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// What may end, as the thread's handler sees it; it outlives the thread.
struct ThreadEnd {
  CodeRange code;
  bool (*is_unwanted)(const void* owner) = nullptr;  // called in a signal handler
  const void* owner = nullptr;
  std::atomic<bool> ended{false};  // nothing runs on the thread from then on
};

void install_thread_end();
void watch_thread(ThreadEnd& end);
void ask_to_end(pthread_t thread);

}  // namespace tandem::emulation
