// SPDX-License-Identifier: Apache-2.0
//
// ThreadPool: one job at a time behind a gate. Workers spin for a moment on a counter of jobs, then
// sleep on it (futex through std::atomic::wait); a worker that finds the gate open enters, takes
// parts from an atomic index and leaves. The caller closes the gate when no part is left and waits
// only for those inside: a worker that the system has not scheduled in time holds nobody up.
#include "common/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <fstream>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace tandem {
namespace {

// The quota of a control group (v2), which the affinity mask does not show: more spinning threads
// than that would only be throttled.
int granted_cores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || period <= 0) return std::numeric_limits<int>::max();
  return std::max(1, static_cast<int>(std::ceil(quota / period)));
}

int usable_cores() {
  cpu_set_t set;
  int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (sched_getaffinity(0, sizeof(set), &set) == 0) cores = std::max(1, CPU_COUNT(&set));
  return std::min(cores, granted_cores());
}

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// About 50 us with pause: longer than the gap between two loops of one layer.
constexpr int kSpins = 2000;

}  // namespace

struct ThreadPool::State {
  static constexpr std::uint32_t kOpen = std::uint32_t{1} << 31;  // the rest counts workers inside

  std::mutex caller;  // one run() at a time
  std::vector<std::thread> workers;
  const std::function<void(std::size_t)>* body = nullptr;
  std::size_t num_parts = 0;
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint32_t> jobs{0};
  std::atomic<std::uint32_t> gate{0};
  std::atomic<bool> stop{false};
  std::mutex error_mutex;
  std::exception_ptr error;

  void take_parts() {
    for (std::size_t part = next.fetch_add(1); part < num_parts; part = next.fetch_add(1)) {
      try {
        (*body)(part);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
      }
    }
  }

  bool enter() {
    std::uint32_t state = gate.load(std::memory_order_acquire);
    while ((state & kOpen) != 0) {
      if (gate.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  void worker() {
    for (std::uint32_t seen = 0;;) {
      for (int i = 0; i < kSpins && jobs.load(std::memory_order_acquire) == seen; ++i) relax();
      jobs.wait(seen, std::memory_order_acquire);
      if (stop.load()) return;
      seen = jobs.load(std::memory_order_acquire);
      if (!enter()) continue;
      take_parts();
      gate.fetch_sub(1, std::memory_order_acq_rel);
    }
  }
};

ThreadPool::ThreadPool(int num_threads) : state_(std::make_unique<State>()) {
  const int total = num_threads > 0 ? num_threads : usable_cores();
  for (int i = 1; i < total; ++i) state_->workers.emplace_back([s = state_.get()] { s->worker(); });
}

ThreadPool::~ThreadPool() {
  state_->stop = true;
  state_->jobs.fetch_add(1);
  state_->jobs.notify_all();
  for (auto& worker : state_->workers) worker.join();
}

int ThreadPool::num_threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::run(std::size_t num_parts, const std::function<void(std::size_t)>& body) {
  if (num_parts == 0) return;
  State& s = *state_;
  if (num_parts == 1 || s.workers.empty()) {
    for (std::size_t part = 0; part < num_parts; ++part) body(part);
    return;
  }
  const std::lock_guard lock(s.caller);
  s.body = &body;
  s.num_parts = num_parts;
  s.error = nullptr;
  s.next.store(0);
  s.gate.store(State::kOpen, std::memory_order_release);
  s.jobs.fetch_add(1, std::memory_order_release);
  s.jobs.notify_all();
  s.take_parts();
  s.gate.fetch_and(~State::kOpen, std::memory_order_acq_rel);
  for (int i = 0; s.gate.load(std::memory_order_acquire) != 0; ++i) {
    if (i < kSpins) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
  if (s.error) std::rethrow_exception(s.error);
}

}  // namespace tandem
