// SPDX-License-Identifier: Apache-2.0
//
// One job at a time, guarded by a gate. Workers spin on a counter of jobs, then sleep on it (futex
// through std::atomic::wait). A worker that finds the gate open enters, takes parts from the
// counters of the regions, and leaves. The caller closes the gate when no part remains and waits
// only for the workers inside, so a worker that the system schedules late delays no other. Only
// sleeping workers cause a wake-up call.
#include "common/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/thread_binding.h"

namespace tandem {
namespace {

// Two cache lines: processors prefetch lines in pairs.
constexpr std::size_t kApart = 128;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Longer than the gap between two loops of one layer. Measured by the clock, since a pause
// instruction takes 5 to 150 cycles, depending on the processor.
constexpr std::chrono::microseconds kSpinTime{50};

// True once `done()` holds, false when the time to spin is over. Crowded threads do not spin: the
// thread they wait for needs the processor.
template <typename Done>
bool spin_until(bool crowded, const Done& done) {
  if (done()) return true;
  if (crowded) return false;
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < 64; ++i) {
      relax();
      if (done()) return true;
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

// The pool that this thread runs a part of.
constinit thread_local const void* inside = nullptr;

struct alignas(kApart) Region {
  std::atomic<std::size_t> next{0};
  std::size_t end = 0;
};

}  // namespace

struct ThreadPool::State {
  // The gate: whether workers may enter, whether the caller sleeps, and how many workers are
  // inside.
  static constexpr std::uint32_t kOpen = std::uint32_t{1} << 31;
  static constexpr std::uint32_t kCallerSleeps = std::uint32_t{1} << 30;
  static constexpr std::uint32_t kInside = kCallerSleeps - 1;

  struct Job {
    const WorkerBody* body = nullptr;
    std::vector<Region> regions;
    std::size_t num_regions = 0;
    bool help = true;  // with regions that are not one's own
  };

  explicit State(const ThreadPlan& threads) : plan(threads) {
    for (const ThreadPlace& place : plan.threads) {
      for (const int id : place.processors) {
        const auto at = static_cast<std::size_t>(id);
        if (at >= node_of.size()) node_of.resize(at + 1, -1);
        node_of[at] = place.node;
      }
    }
  }

  ThreadPlan plan;
  std::vector<int> node_of;  // [processor] -1: not one of the pool's
  std::vector<std::thread> workers;
  std::mutex caller;  // one run() at a time
  Job job;
  std::mutex error_mutex;
  std::exception_ptr error;
  alignas(kApart) std::atomic<std::uint32_t> jobs{0};
  std::atomic<bool> stop{false};
  alignas(kApart) std::atomic<std::uint32_t> gate{0};
  alignas(kApart) std::atomic<int> sleepers{0};

  // The caller is not bound: it asks where it is now.
  std::size_t node_now(std::size_t worker) const {
    const int processor = worker == 0 ? sched_getcpu() : -1;
    const bool known = processor >= 0 && static_cast<std::size_t>(processor) < node_of.size() &&
                       node_of[static_cast<std::size_t>(processor)] >= 0;
    return static_cast<std::size_t>(known ? node_of[static_cast<std::size_t>(processor)]
                                          : plan.threads[worker].node);
  }

  std::size_t home_of(std::size_t worker) const {
    if (job.num_regions == 1) return 0;
    if (job.num_regions == static_cast<std::size_t>(plan.num_nodes)) {
      return job.help ? node_now(worker) : static_cast<std::size_t>(plan.threads[worker].node);
    }
    return worker * job.num_regions / plan.threads.size();
  }

  void take_parts(Region& region, std::size_t worker) {
    // Read first: a counter that has run out is not written any more.
    while (region.next.load(std::memory_order_relaxed) < region.end) {
      const std::size_t part = region.next.fetch_add(1, std::memory_order_relaxed);
      if (part >= region.end) return;
      try {
        (*job.body)(part, worker);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
      }
    }
  }

  void work(std::size_t worker) {
    const void* outer = std::exchange(inside, this);
    const std::size_t home = home_of(worker), count = job.help ? job.num_regions : 1;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t region = home + i;
      take_parts(job.regions[region < job.num_regions ? region : region - job.num_regions], worker);
    }
    inside = outer;
  }

  bool all_taken() const {
    return std::all_of(job.regions.begin(),
                       job.regions.begin() + static_cast<std::ptrdiff_t>(job.num_regions),
                       [](const Region& region) { return region.next.load() >= region.end; });
  }

  bool enter() {
    std::uint32_t state = gate.load(std::memory_order_acquire);
    while ((state & kOpen) != 0) {
      if (gate.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  void leave() {
    const std::uint32_t before = gate.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & kCallerSleeps) != 0 && (before & kInside) == 1) gate.notify_one();
  }

  // Closes the gate and waits until no worker is inside.
  void close() {
    std::uint32_t state = gate.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    if (state == 0) return;
    if (spin_until(plan.crowded, [&] { return gate.load(std::memory_order_acquire) == 0; })) return;
    state = gate.fetch_or(kCallerSleeps, std::memory_order_acq_rel) | kCallerSleeps;
    while ((state & kInside) != 0) {
      gate.wait(state, std::memory_order_acquire);
      state = gate.load(std::memory_order_acquire);
    }
    gate.store(0, std::memory_order_relaxed);
  }

  void announce() {
    jobs.fetch_add(1);
    if (sleepers.load() > 0) jobs.notify_all();
  }

  void end() {
    stop = true;
    announce();
    for (std::thread& thread : workers) thread.join();
  }

  void worker(std::size_t number) {
    bind_this_thread(plan.threads[number].processors);
    for (std::uint32_t seen = 0;;) {
      const auto called = [&] { return jobs.load(std::memory_order_acquire) != seen; };
      if (!spin_until(plan.crowded, called)) {
        // Counted before the counter of jobs is read again: either the caller sees a sleeper, or
        // the sleeper sees the job.
        sleepers.fetch_add(1);
        jobs.wait(seen);
        sleepers.fetch_sub(1);
      }
      // In this order: the count that end() made is seen together with `stop`, or it is another
      // one.
      seen = jobs.load(std::memory_order_acquire);
      if (stop.load()) return;
      if (!enter()) continue;
      work(number);
      leave();
    }
  }

  void set_job(std::span<const std::size_t> bounds, const WorkerBody& body, bool help) {
    job.num_regions = bounds.size() - 1;
    if (job.regions.size() < job.num_regions) job.regions = std::vector<Region>(job.num_regions);
    for (std::size_t r = 0; r < job.num_regions; ++r) {
      job.regions[r].next.store(bounds[r], std::memory_order_relaxed);
      job.regions[r].end = bounds[r + 1];
    }
    job.body = &body;
    job.help = help;
    error = nullptr;
  }

  void run(std::span<const std::size_t> bounds, const WorkerBody& body, bool help) {
    if (inside == this) throw Error("threads", "a body must not call run() of its own pool");
    if (bounds.size() < 2 || bounds.back() == 0) return;
    const std::lock_guard lock(caller);
    set_job(bounds, body, help);
    if (workers.empty() || (bounds.back() == 1 && help)) {
      job.help = true;
      work(0);
    } else {
      gate.store(kOpen, std::memory_order_release);
      announce();
      work(0);
      while (!help && !all_taken()) std::this_thread::yield();
      close();
    }
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }
};

ThreadPool::ThreadPool(const ThreadPoolOptions& options)
    : ThreadPool(plan_threads(this_machine(), options.num_threads, options.pin)) {}

ThreadPool::ThreadPool(const ThreadPlan& plan) : state_(std::make_unique<State>(plan)) {
  try {
    for (std::size_t i = 1; i < plan.threads.size(); ++i) {
      state_->workers.emplace_back([s = state_.get(), i] { s->worker(i); });
    }
  } catch (const std::exception& error) {
    const std::size_t made = state_->workers.size() + 1;  // the caller is one
    state_->end();
    throw Error("threads", "only " + std::to_string(made) + " of " +
                               std::to_string(plan.threads.size()) +
                               " threads can be made; use fewer: " + error.what());
  }
}

ThreadPool::~ThreadPool() { state_->end(); }

int ThreadPool::num_threads() const { return static_cast<int>(state_->plan.threads.size()); }

int ThreadPool::num_nodes() const { return state_->plan.num_nodes; }

int ThreadPool::node_of(int worker) const {
  return state_->plan.threads[static_cast<std::size_t>(worker)].node;
}

const ThreadPlan& ThreadPool::plan() const { return state_->plan; }

void ThreadPool::run(std::size_t num_parts, Body body) {
  run(num_parts, [&](std::size_t part, std::size_t) { body(part); });
}

void ThreadPool::run(std::size_t num_parts, WorkerBody body) {
  const std::size_t bounds[] = {0, num_parts};
  state_->run(bounds, body, true);
}

void ThreadPool::run_regions(std::span<const std::size_t> bounds, WorkerBody body) {
  state_->run(bounds, body, true);
}

void ThreadPool::place(std::span<const std::size_t> bounds, WorkerBody body) {
  if (bounds.size() < 2) return;
  const std::size_t regions = bounds.size() - 1;
  if (regions > static_cast<std::size_t>(num_threads())) {
    throw Error("threads", std::to_string(regions) + " regions have no worker each in a pool of " +
                               std::to_string(num_threads()) + " threads");
  }
  const BindingScope bound(state_->plan.threads[0].processors);
  state_->run(bounds, body, false);
}

}  // namespace tandem
