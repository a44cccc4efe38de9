// SPDX-License-Identifier: Apache-2.0
//
// PostGate: lets other threads (the engine's) post onto an io_context until close().
//
// While a guard from enter() exists and converts to true, the io_context exists. close() waits for
// such guards; later guards convert to false. Sinks may therefore outlive the server. Threads: any.
// Cost: an uncontended shared lock.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace tandem::server::http {

class PostGate {
 public:
  class Guard {
   public:
    explicit Guard(PostGate& gate) : lock_(gate.mutex_), open_(gate.open_) {}
    explicit operator bool() const { return open_; }

   private:
    std::shared_lock<std::shared_mutex> lock_;
    bool open_;
  };

  Guard enter() { return Guard(*this); }

  void close() {
    std::unique_lock lock(mutex_);
    open_ = false;
  }

 private:
  std::shared_mutex mutex_;
  bool open_ = true;
};

}  // namespace tandem::server::http
