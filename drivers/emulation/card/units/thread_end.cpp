// SPDX-License-Identifier: Apache-2.0
//
// The thread ends by the system call: pthread_exit() would unwind stacks that are half used.
#include "emulation/card/units/thread_end.h"

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>

#include "emulation/card/units/stopped_at.h"

namespace tandem::emulation {
namespace {

thread_local ThreadEnd* watched = nullptr;

int end_signal() { return SIGRTMIN + 6; }

// The code may be a jump to a function of the card, which belongs to no line: its caller does.
uint64_t caller_of(const ucontext_t& context, const CodeRange& code) {
#if defined(__x86_64__)
  const auto* const top = reinterpret_cast<const uint64_t*>(context.uc_mcontext.gregs[REG_RSP]);
  for (int word = 0; word < 3; ++word) {
    if (top[word] >= code.begin && top[word] < code.end) return top[word];
  }
  return 0;
#elif defined(__aarch64__)
  const uint64_t link = context.uc_mcontext.regs[30];
  return link >= code.begin && link < code.end ? link : 0;
#else
  return 0;
#endif
}

void on_end(int, siginfo_t*, void* context) {
  const int code = errno;
  ThreadEnd* const end = watched;
  if (end == nullptr) return;
  const uint64_t at = stopped_at(*static_cast<const ucontext_t*>(context));
  const bool in_code = at >= end->code.begin && at < end->code.end;
  if (in_code && end->is_unwanted(end->owner)) {
    end->at.store(at);
    end->caller.store(caller_of(*static_cast<const ucontext_t*>(context), end->code));
    end->ended.store(true, std::memory_order_release);
    syscall(SYS_exit, 0);
  }
  errno = code;
}

}  // namespace

void install_thread_end() {
  struct sigaction action {};
  action.sa_sigaction = on_end;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(end_signal(), &action, nullptr);
}

void watch_thread(ThreadEnd& end) { watched = &end; }

void ask_to_end(pthread_t thread) { pthread_kill(thread, end_signal()); }

}  // namespace tandem::emulation
