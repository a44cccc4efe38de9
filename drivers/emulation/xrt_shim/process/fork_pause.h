// SPDX-License-Identifier: Apache-2.0
//
// Descriptors that forked children do not keep: the kernel tells a card of its application's end by
// the last copy of a pipe and of a socket, which a child that lives on would hold.
//
// While a ForkPause lives no other thread forks (it waits in fork()): whoever makes such a
// descriptor lists it before there can be a child, and whoever closes one takes it off the list
// before its number is another's. Handlers of the thread's signals wait too, as one might fork.
// Children made past the C library's fork() keep what they inherit. Threads: any; not to be nested.
#pragma once

#include <signal.h>

namespace tandem::emulation {

class ForkPause {
 public:
  ForkPause();
  ~ForkPause();
  ForkPause(const ForkPause&) = delete;
  ForkPause& operator=(const ForkPause&) = delete;

  // Children close it as they begin.
  void keep_from_children(int descriptor);
  // In the process that listed it.
  void close_listed(int descriptor);

 private:
  sigset_t signals_before_{};
};

}  // namespace tandem::emulation
