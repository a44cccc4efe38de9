// SPDX-License-Identifier: Apache-2.0
//
// ThreadPool: a fixed team of threads for short data-parallel loops (microseconds to milliseconds).
//
// Workers spin for about 50 us before they sleep, because a decode step is many small loops. They
// do not spin with more threads than processors. thread_plan.h says where workers are bound. The
// caller is worker 0. It is not bound, because threads that it starts would inherit the binding.
// Threads: run() from one thread at a time; a second caller waits. Errors: the first exception of a
// body is rethrown after all parts have ended. Error for a body that calls run() of its own pool,
// and when the system cannot start the threads. Cost: an empty run takes well below 1 us while
// workers spin.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "common/function_ref.h"
#include "common/thread_plan.h"

namespace tandem {

struct ThreadPoolOptions {
  int num_threads = 0;  // counts the caller; 0: one per physical core that this process may use
  Pin pin = Pin::kAuto;
};

class ThreadPool {
 public:
  using Body = FunctionRef<void(std::size_t part)>;
  using WorkerBody = FunctionRef<void(std::size_t part, std::size_t worker)>;

  explicit ThreadPool(int num_threads = 0) : ThreadPool(ThreadPoolOptions{num_threads}) {}
  explicit ThreadPool(const ThreadPoolOptions& options);
  explicit ThreadPool(const ThreadPlan& plan);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const;
  int num_nodes() const;          // nodes that have a worker; 1 if workers are not bound
  int node_of(int worker) const;  // in [0, num_nodes()); workers of a node are neighbours
  const ThreadPlan& plan() const;

  // Calls the body once for every part in [0, n), on the caller and the workers, and returns when
  // all parts have ended. One counter distributes the parts in order, so uneven parts balance.
  // `worker` is in [0, num_threads()).
  void run(std::size_t num_parts, Body body);
  void run(std::size_t num_parts, WorkerBody body);

  // For memory in regions on several NUMA nodes: a worker takes the parts of its own region first,
  // then those of others. Region r has the parts bounds[r] .. bounds[r + 1]; bounds begin at 0 and
  // never decrease. With as many regions as nodes, region r belongs to node r. Otherwise the
  // regions are spread over all workers in order.
  void run_regions(std::span<const std::size_t> bounds, WorkerBody body);

  // For the first touch of memory: only workers of a region run its parts. The caller is bound to
  // its place meanwhile. Error for more regions than threads (unless there is one per node).
  void place(std::span<const std::size_t> bounds, WorkerBody body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem
