// SPDX-License-Identifier: Apache-2.0
//
// Descriptors that forked children must not keep. The kernel reports an application's end to a card
// when the last copy of a pipe and of a socket closes, and a child that outlives the application
// would hold copies.
//
// While a ForkPause exists no other thread forks (it waits in fork()). So a descriptor is listed
// before a child can inherit it, and leaves the list before its number is used again. Signals of
// the thread are blocked meanwhile, since a handler might fork. Children made without the C
// library's fork() keep what they inherit. Threads: any; not to be nested.
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
  // Takes it off the list; for the process that listed it.
  void close_listed(int descriptor);

 private:
  sigset_t signals_before_{};
};

}  // namespace tandem::emulation
