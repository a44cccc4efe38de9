// SPDX-License-Identifier: Apache-2.0
//
// ThreadPool: a fixed team of threads for short data-parallel loops (microseconds to milliseconds).
//
// run(n, body) calls body once for every part in [0, n), on the caller and the team, and returns
// when all are done. Parts are taken in order from one counter, so uneven parts balance. A body may
// take the number of the worker that runs it too: in [0, num_threads()), never two at once.
//
// run_regions() is for memory that lies in regions, on several NUMA nodes: a worker takes the parts
// of its own region first, and then helps with the others; place() is the same without helping, for
// the first touch of that memory.
//
// Workers spin for some 50 us before they sleep, since a decode step is a chain of many small
// loops; where threads are more than processors they do not spin. Workers are bound as
// thread_plan.h says. The caller is worker 0 and stays unbound (threads that it starts later would
// inherit that); its processor is left free for it. A pool of one thread runs everything on the
// caller. Threads: run() from one thread at a time (a second caller waits its turn). Errors: the
// first exception a body throws is rethrown after all parts have ended; a body that calls run() of
// its own pool gets Error, as does who asks for more threads than the system makes. Cost: an empty
// run of spinning threads takes well below a microsecond.
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
  int num_nodes() const;          // that have a worker; 1 where workers are not bound
  int node_of(int worker) const;  // in [0, num_nodes()); workers of a node are neighbours
  const ThreadPlan& plan() const;

  void run(std::size_t num_parts, Body body);
  void run(std::size_t num_parts, WorkerBody body);

  // Region r has the parts bounds[r] .. bounds[r + 1]; bounds begin at 0 and do not fall. With as
  // many regions as nodes, region r is at home on node r; otherwise regions are dealt to workers in
  // order, all R over all W.
  void run_regions(std::span<const std::size_t> bounds, WorkerBody body);

  // Every part is run by a worker at home in its region, the caller being bound to its own place
  // meanwhile. At most as many regions as threads (or one per node): Error otherwise.
  void place(std::span<const std::size_t> bounds, WorkerBody body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem
