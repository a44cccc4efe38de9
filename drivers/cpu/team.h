// SPDX-License-Identifier: Apache-2.0
//
// Team: the thread pool of one CPU device, handing out items together with the number of the worker
// that runs them.
//
// run(count, body) calls body(item, worker) once per item; worker is in [0, size()) and no two
// running bodies share one, so scratch memory can be kept per worker. Items go out in order, to
// whoever is free. One item runs on the caller without waking anybody. Threads and errors as for
// ThreadPool.
#pragma once

#include <cstddef>
#include <functional>

#include "common/thread_pool.h"

namespace tandem::device::cpu {

class Team {
 public:
  // num_threads counts the caller; 0 means the cores this process may run on.
  explicit Team(int num_threads) : pool_(num_threads) {}

  int size() const { return pool_.num_threads(); }
  void run(std::size_t count,
           const std::function<void(std::size_t item, std::size_t worker)>& body);

 private:
  ThreadPool pool_;
};

}  // namespace tandem::device::cpu
