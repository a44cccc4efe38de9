// SPDX-License-Identifier: Apache-2.0
//
// ThreadPool: a fixed team of threads for short data-parallel loops (microseconds to milliseconds).
//
// run(n, body) calls body(i) once for every i in [0, n), on the caller and the team, and returns
// when all are done. Indices are taken in order from one counter, so uneven parts balance. Workers
// spin for a short while before they sleep, since a decode step is a chain of many small loops. A
// pool of one thread runs everything on the caller. Threads: run() from one thread at a time (a
// second caller waits its turn); body must not call run() on the same pool. Errors: the first
// exception a body throws is rethrown by run() after all parts have ended.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace tandem {

class ThreadPool {
 public:
  // num_threads counts the caller; 0 means the cores this process may run on.
  explicit ThreadPool(int num_threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const;
  void run(std::size_t num_parts, const std::function<void(std::size_t part)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem
