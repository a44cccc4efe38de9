// SPDX-License-Identifier: Apache-2.0
//
// ForkPause: protects descriptors that forked children must not keep. A card detects an
// application's end when the last copy of a pipe and of a socket closes. A child that outlives the
// application would hold copies.
//
// While a ForkPause exists, other threads that fork wait in fork(). So a descriptor is listed
// before a child can inherit it, and removed before its number is used again. Signals of the thread
// are blocked meanwhile, because a handler might fork. Children that are made without the C
// library's fork() keep the descriptors. Threads: any; do not nest.
#pragma once

#include <signal.h>

namespace tandem::emulation {

class ForkPause {
 public:
  ForkPause();
  ~ForkPause();
  ForkPause(const ForkPause&) = delete;
  ForkPause& operator=(const ForkPause&) = delete;

  // Lists a descriptor that children close at their start.
  void keep_from_children(int descriptor);
  // Removes it from the list and closes it; only in the process that listed it.
  void close_listed(int descriptor);

 private:
  sigset_t signals_before_{};
};

}  // namespace tandem::emulation
