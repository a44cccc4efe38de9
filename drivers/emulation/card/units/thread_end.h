// SPDX-License-Identifier: Apache-2.0
//
// Ends a thread from outside while it runs given code, such as an endless kernel whose clients have
// ended.
//
// A signal interrupts the thread. Its handler ends the thread if the interrupted instruction is in
// the given code, so no lock of the C library or of the card is held. Otherwise the thread
// continues, and the caller tries again. The stacks are neither unwound nor freed, so the caller
// bounds how often this happens. Threads: the thread itself calls watch_thread(), any thread the
// rest.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace tandem::emulation {

struct CodeRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// The state for the thread's signal handler; outlives the thread.
struct ThreadEnd {
  CodeRange code;
  bool (*is_unwanted)(const void* owner) = nullptr;  // called in a signal handler
  const void* owner = nullptr;
  std::atomic<uint64_t> at{0};      // the instruction at which it ended
  std::atomic<uint64_t> caller{0};  // a return address near the top of its stack, in the code
  std::atomic<bool> ended{false};   // the thread runs nothing any more
};

void install_thread_end();
void watch_thread(ThreadEnd& end);
void ask_to_end(pthread_t thread);

}  // namespace tandem::emulation
