// SPDX-License-Identifier: Apache-2.0
//
// Ends a thread from outside while it runs given code, such as a kernel that does not end and that
// no client waits for.
//
// A signal asks the thread. Its handler ends the thread when the interrupted instruction lies in
// the given code, so no lock of the C library or of the card is held. Elsewhere the thread goes on,
// and the caller asks again. Its stacks are neither unwound nor freed, so the caller bounds how
// often this happens. Threads: watch_thread() is called by the thread itself, the rest by any.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace tandem::emulation {

struct CodeRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// What the thread's signal handler looks at; outlives the thread.
struct ThreadEnd {
  CodeRange code;
  bool (*is_unwanted)(const void* owner) = nullptr;  // called in a signal handler
  const void* owner = nullptr;
  std::atomic<bool> ended{false};  // nothing runs on the thread any more
};

void install_thread_end();
void watch_thread(ThreadEnd& end);
void ask_to_end(pthread_t thread);

}  // namespace tandem::emulation
