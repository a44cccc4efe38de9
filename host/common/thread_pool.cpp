// SPDX-License-Identifier: Apache-2.0
//
// ThreadPool: one shared job, an epoch counter that workers spin on for a moment and then sleep on
// (futex through std::atomic::wait), and an atomic index from which everyone takes parts.
#include "common/thread_pool.h"

#include <sched.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tandem {
namespace {

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

constexpr int kSpins =
    2000;  // about 50 us with pause: longer than the gap between two loops of one layer

}  // namespace

struct ThreadPool::State {
  std::mutex caller;  // one run() at a time
  std::vector<std::thread> workers;
  const std::function<void(std::size_t)>* body = nullptr;
  std::size_t num_parts = 0;
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint32_t> epoch{0};
  std::atomic<int> busy{0};
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

  void worker() {
    std::uint32_t seen = 0;
    for (;;) {
      for (int i = 0; i < kSpins && epoch.load(std::memory_order_acquire) == seen; ++i) relax();
      epoch.wait(seen, std::memory_order_acquire);
      if (stop.load()) return;
      seen = epoch.load(std::memory_order_acquire);
      take_parts();
      busy.fetch_sub(1, std::memory_order_acq_rel);
    }
  }
};

ThreadPool::ThreadPool(int num_threads) : state_(std::make_unique<State>()) {
  const int total = num_threads > 0 ? num_threads : usable_cores();
  for (int i = 1; i < total; ++i) state_->workers.emplace_back([s = state_.get()] { s->worker(); });
}

ThreadPool::~ThreadPool() {
  state_->stop = true;
  state_->epoch.fetch_add(1);
  state_->epoch.notify_all();
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
  s.busy.store(static_cast<int>(s.workers.size()), std::memory_order_release);
  s.epoch.fetch_add(1, std::memory_order_release);
  s.epoch.notify_all();
  s.take_parts();
  // Every worker must have seen this epoch before the next one begins, so wait for all, not only
  // for the parts.
  for (int i = 0; s.busy.load(std::memory_order_acquire) > 0; ++i) {
    if (i < kSpins) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
  if (s.error) std::rethrow_exception(s.error);
}

}  // namespace tandem
