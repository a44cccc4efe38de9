// SPDX-License-Identifier: Apache-2.0
//
// The cost of starting and ending a parallel loop, in nanoseconds per run of a pool of two threads.
//
//   empty          two parts that do nothing: the caller does not wait for a late thread
//   both           two parts that wait for each other: the other thread must take part
//   both after ... the same when the other thread was asleep before
// Beside each, in turns with it, the machine's round trip of a message: through a cache line on
// which both threads spin, or through a condition variable on which the other thread sleeps.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/thread_pool.h"
#include "drivers/cpu/samples.h"

namespace tandem::bench {
namespace {

constexpr int kRuns = 2000;
constexpr auto kNap = std::chrono::microseconds(500);  // ten times as long as workers spin

// Spins, and yields the processor when the other thread seems to wait for it.
template <typename Done>
void wait_until(const Done& done) {
  for (int spins = 0; !done(); ++spins) {
    if (spins > 10000) std::this_thread::yield();
  }
}

// A thread that answers: spinning, or asleep on a condition variable.
class Echo {
 public:
  explicit Echo(bool sleeps) : sleeps_(sleeps), thread_([this] { answer(); }) {}
  ~Echo() {
    send(-1);
    thread_.join();
  }

  void call() {
    send(++calls_);
    wait_until([&] { return answered_.load(std::memory_order_acquire) == calls_; });
  }

 private:
  void send(int value) {
    if (!sleeps_) {
      asked_.store(value, std::memory_order_release);
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      asked_.store(value);
    }
    woken_.notify_one();
  }

  void answer() {
    for (int seen = 0;;) {
      if (sleeps_) {
        std::unique_lock lock(mutex_);
        woken_.wait(lock, [&] { return asked_.load() != seen; });
      } else {
        wait_until([&] { return asked_.load(std::memory_order_acquire) != seen; });
      }
      seen = asked_.load(std::memory_order_acquire);
      if (seen == -1) return;
      answered_.store(seen, std::memory_order_release);
    }
  }

  const bool sleeps_;
  int calls_ = 0;
  alignas(128) std::atomic<int> asked_{0};
  alignas(128) std::atomic<int> answered_{0};
  std::mutex mutex_;
  std::condition_variable woken_;
  std::thread thread_;
};

void run_both(ThreadPool& pool) {
  std::atomic<int> inside{0};
  pool.run(2, [&](std::size_t) {
    inside.fetch_add(1);
    wait_until([&] { return inside.load() == 2; });
  });
}

// Nanoseconds of one of `calls` calls, each after a nap or all in a row.
double ns_per_call(int calls, bool nap, const std::function<void()>& call) {
  if (!nap) {
    return seconds([&] {
             for (int i = 0; i < calls; ++i) call();
           }) /
           calls * 1e9;
  }
  double total = 0;
  for (int i = 0; i < calls; ++i) {
    std::this_thread::sleep_for(kNap);
    total += seconds(call);
  }
  return total / calls * 1e9;
}

// The other thread exists during this measurement only: later it would spin on the pool's
// processor.
double ns_there_and_back(int calls, bool nap) {
  Echo echo(nap);
  echo.call();
  return ns_per_call(calls, nap, [&] { echo.call(); });
}

void measure(const std::string& name, const std::string& pin, int calls, bool nap,
             const std::function<void()>& work) {
  std::vector<double> times, limits, ratios;
  for (int sample = -3; sample < kSamples; ++sample) {
    const double limit = ns_there_and_back(calls, nap);
    work();
    const double time = ns_per_call(calls, nap, work);
    if (sample < 0) continue;  // warm-up
    limits.push_back(limit);
    times.push_back(time);
    ratios.push_back(time / limit);
  }
  print_figure(name, times, "ns",
               {{"pin", pin},
                {"there_and_back_ns", quantile(limits, 0.5)},
                {"of_there_and_back", quantile(ratios, 0.5)},
                {"of_there_and_back_p10", quantile(ratios, 0.1)}});
}

bool runs_every_part(ThreadPool& pool) {
  for (int round = 0; round < 1000; ++round) {
    std::atomic<int> runs{0};
    pool.run(5, [&](std::size_t) { runs += 1; });
    if (runs != 5) return false;
  }
  return true;
}

int measure_all(Pin pin, const std::string& name) {
  ThreadPool pool(ThreadPoolOptions{2, pin});
  if (!runs_every_part(pool)) return EXIT_FAILURE;
  measure("thread_pool_empty", name, kRuns, false, [&] { pool.run(2, [](std::size_t) {}); });
  measure("thread_pool_both", name, kRuns, false, [&] { run_both(pool); });
  measure("thread_pool_both_after_sleep", name, 20, true, [&] { run_both(pool); });
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tandem::bench

int main() {
  using tandem::Pin;
  int failed = tandem::bench::measure_all(Pin::kOff, "off");
  if (tandem::this_machine().processors.size() > 1) {
    failed |= tandem::bench::measure_all(Pin::kOn, "on");
  }
  return failed;
}
