// SPDX-License-Identifier: Apache-2.0
//
// Actions run and are destroyed without the lock, because they may set timers.
#include "server/timers.h"

namespace tandem::server {

Timers::Timers() : thread_([this] { run(); }) {}

Timers::~Timers() { stop(); }

Timers::Id Timers::after(Clock::duration duration, std::function<void()> action) {
  Id id{Clock::now() + duration, 0};
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return id;
    id.number = ++last_number_;
    actions_.emplace(id, std::move(action));
  }
  changed_.notify_one();
  return id;
}

void Timers::cancel(const Id& id) {
  std::function<void()> dropped;
  const std::lock_guard lock(mutex_);
  const auto found = actions_.find(id);
  if (found == actions_.end()) return;
  dropped = std::move(found->second);
  actions_.erase(found);
}

void Timers::stop() {
  std::map<Id, std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(actions_);
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Timers::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (actions_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = actions_.begin();
    if (first->first.at > Clock::now()) {
      const auto at = first->first.at;  // a copy, because the entry may be erased during the wait
      changed_.wait_until(lock, at);
      continue;
    }
    auto action = std::move(first->second);
    actions_.erase(first);
    lock.unlock();
    action();
    action = nullptr;
    lock.lock();
  }
}

}  // namespace tandem::server
