// SPDX-License-Identifier: Apache-2.0
//
// of_this_process<Type>(): the one object of a type in this process. A forked child gets a new one,
// since it may inherit a locked mutex. Never destroyed: callbacks may run while the process ends.
// Threads: any.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>

namespace tandem::emulation {

template <typename Type>
Type& of_this_process() {
  struct OfProcess {
    pid_t process;
    Type object;
  };
  static std::atomic<OfProcess*> current{nullptr};
  OfProcess* known = current.load();
  while (known == nullptr || known->process != getpid()) {
    auto* const made = new OfProcess{getpid(), {}};
    if (current.compare_exchange_strong(known, made)) return made->object;
    delete made;
  }
  return known->object;
}

}  // namespace tandem::emulation
