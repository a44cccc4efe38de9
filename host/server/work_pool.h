// SPDX-License-Identifier: Apache-2.0
//
// WorkPool: threads for long work: JSON, templates, tokenising, large answers.
//
// New requests wait in a bounded queue. Further work for an admitted request is never refused; each
// request has at most one piece of it in the queue. Threads take from both queues in turn. Threads:
// any. Errors: exceptions of work are logged.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tandem::server {

class WorkPool {
 public:
  WorkPool(int num_threads, std::size_t max_waiting);
  ~WorkPool();  // stop()

  // Adds work of a new request. False if max_waiting requests wait, or after stop().
  bool try_post(std::function<void()> work);

  // Adds work of an admitted request; dropped after stop().
  void post(std::function<void()> work);

  // Waits for the work in progress and drops the rest. Must not be called from a thread of the
  // pool.
  void stop();

 private:
  using Queue = std::deque<std::function<void()>>;

  void run();
  std::function<void()> take();  // empty: the pool stops

  const std::size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Queue requests_, going_on_;
  bool requests_next_ = false;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tandem::server
