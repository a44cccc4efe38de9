// SPDX-License-Identifier: Apache-2.0
//
// epoll, one event at a time: a batch could name descriptors that an earlier event of the batch
// removed.
#include "emulation/card/clients/event_loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>
#include <utility>

namespace tandem::emulation {

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll");
}

EventLoop::~EventLoop() { close(epoll_); }

void EventLoop::add(int descriptor, std::function<void()> on_event) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll");
  }
  functions_[descriptor] = std::make_shared<std::function<void()>>(std::move(on_event));
}

void EventLoop::remove(int descriptor) {
  if (functions_.erase(descriptor) > 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
}

bool EventLoop::run_one(std::chrono::milliseconds timeout) {
  epoll_event event{};
  const int ready = epoll_wait(epoll_, &event, 1, static_cast<int>(timeout.count()));
  if (ready == 0) return false;
  if (ready < 0) {
    if (errno == EINTR) return true;
    throw std::system_error(errno, std::generic_category(), "epoll");
  }
  const auto found = functions_.find(event.data.fd);
  if (found == functions_.end()) return true;
  const auto function = found->second;  // a copy, since the function may remove itself
  try {
    (*function)();
  } catch (const std::exception& error) {  // an error of one client does not end the loop
    std::fprintf(stderr, "tandem-card: %s\n", error.what());
  }
  return true;
}

}  // namespace tandem::emulation
