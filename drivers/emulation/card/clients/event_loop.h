// SPDX-License-Identifier: Apache-2.0
//
// Calls a function when a descriptor becomes readable or its other end closes.
//
// A function may add and remove descriptors, its own included. An exception from it is reported and
// does not end the loop. Errors: std::system_error. Threads: one.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>

namespace tandem::emulation {

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // The caller owns the descriptor and removes it before closing it.
  void add(int descriptor, std::function<void()> on_event);
  void remove(int descriptor);
  // Waits for one event and calls its function; false when `timeout` (negative: none) passes first.
  bool run_one(std::chrono::milliseconds timeout);

 private:
  int epoll_ = -1;
  std::map<int, std::shared_ptr<std::function<void()>>> functions_;
};

}  // namespace tandem::emulation
