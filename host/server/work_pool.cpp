// SPDX-License-Identifier: Apache-2.0
//
// Work is destroyed without the lock, because its destructor may post again.
#include "server/work_pool.h"

#include <spdlog/spdlog.h>

#include <exception>
#include <utility>

namespace tandem::server {

WorkPool::WorkPool(int num_threads, std::size_t max_waiting) : max_waiting_(max_waiting) {
  for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { run(); });
}

WorkPool::~WorkPool() { stop(); }

bool WorkPool::try_post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || requests_.size() >= max_waiting_) return false;
    requests_.push_back(std::move(work));
  }
  changed_.notify_one();
  return true;
}

void WorkPool::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    going_on_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void WorkPool::stop() {
  Queue dropped_requests, dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped_requests.swap(requests_);
    dropped.swap(going_on_);
  }
  changed_.notify_all();
  dropped_requests.clear();
  dropped.clear();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::function<void()> WorkPool::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || !requests_.empty() || !going_on_.empty(); });
  if (stopping_) return {};
  requests_next_ = !requests_next_;
  const bool takes_request = going_on_.empty() || (requests_next_ && !requests_.empty());
  Queue& queue = takes_request ? requests_ : going_on_;
  std::function<void()> work = std::move(queue.front());
  queue.pop_front();
  return work;
}

void WorkPool::run() {
  while (const std::function<void()> work = take()) {
    try {
      work();
    } catch (const std::exception& error) {
      spdlog::error("[server] unexpected: {}", error.what());
    }
  }
}

}  // namespace tandem::server
