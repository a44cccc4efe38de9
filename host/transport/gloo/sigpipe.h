// SPDX-License-Identifier: Apache-2.0
//
// SigpipeBlock: while it exists, writing to a closed socket is an error and not a signal.
//
// gloo writes without MSG_NOSIGNAL. This object blocks SIGPIPE for this thread and the threads that
// it starts, and removes one that came meanwhile; the process's disposition does not change.
// Threads: one.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

namespace tandem::transport::gloo {

class SigpipeBlock {
 public:
  SigpipeBlock() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~SigpipeBlock() {
    const timespec now{0, 0};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeBlock(const SigpipeBlock&) = delete;
  SigpipeBlock& operator=(const SigpipeBlock&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

}  // namespace tandem::transport::gloo
