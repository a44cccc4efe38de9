// SPDX-License-Identifier: Apache-2.0
//
// The host's cost of a ring, from the post of a word to its answer, without work to serve. A thread
// plays the compute unit.
//
//   in a row          the next post follows the answer at once
//   after N us        the compute unit computes in between: the ring's thread spins, or sleeps if
//                     that is long
//   first of a step   includes the opening of the step, after a pause in which the thread fell
//                     asleep
// The round trip of a message between two threads that only spin is measured alternately with each.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "drivers/cpu/samples.h"
#include "engine/attention/ring_thread.h"

namespace tandem::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPosts = 200;  // of a sample

void busy(Clock::duration duration) {
  for (const auto end = Clock::now() + duration; Clock::now() < end;) {
  }
}

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

class Side {
 public:
  void open() { thread_.open(); }
  void close() { thread_.close(); }
  // Microseconds of a round trip.
  double round_trip() {
    const auto start = Clock::now();
    const std::uint64_t posted = ++count_ << 32 | 7;
    std::atomic_ref(words_.posted).store(posted, std::memory_order_release);
    while (std::atomic_ref(words_.answered).load(std::memory_order_acquire) != posted) {
    }
    return us_since(start);
  }
  // Verified: every post was served, once.
  void check() const {
    if (served_ == count_) return;
    std::cerr << "bench_engine_ring: " << served_ << " of " << count_ << " posts were served\n";
    std::exit(1);
  }

 private:
  device::RingWords words_{};
  std::uint64_t count_ = 0;
  std::atomic<std::uint64_t> served_{0};
  engine::RingThread thread_{{&words_, 1}, [this](std::size_t, std::uint32_t tag) {
                               served_ += tag == 7;
                               return true;
                             }};
};

// Two threads on one cache line each.
double spinning_threads() {
  alignas(128) std::atomic<int> asked{0};
  alignas(128) std::atomic<int> answered{0};
  std::thread other([&] {
    for (int i = 1; i <= kPosts; ++i) {
      while (asked.load(std::memory_order_acquire) != i) {
      }
      answered.store(i, std::memory_order_release);
    }
  });
  const auto start = Clock::now();
  for (int i = 1; i <= kPosts; ++i) {
    asked.store(i, std::memory_order_release);
    while (answered.load(std::memory_order_acquire) != i) {
    }
  }
  const double total = us_since(start);
  other.join();
  return total / kPosts;
}

void measure(const std::string& name, int posts, Clock::duration pause, bool opens) {
  Side side;
  std::vector<double> samples, limits;
  for (int run = -3; run < kSamples; ++run) {
    double total = 0;
    if (!opens) side.open();
    for (int i = 0; i < posts; ++i) {
      if (opens) {
        std::this_thread::sleep_for(pause);
        const auto start = Clock::now();
        side.open();
        side.round_trip();
        total += us_since(start);
        side.close();
      } else {
        busy(pause);
        total += side.round_trip();
      }
    }
    if (!opens) side.close();
    side.check();
    const double limit = spinning_threads();
    if (run < 0) continue;
    samples.push_back(total / posts);
    limits.push_back(limit);
  }
  print_figure("engine_ring/" + name, samples, "us",
               {{"spinning_threads_us", quantile(limits, 0.5)}});
}

}  // namespace
}  // namespace tandem::bench

int main() {
  using namespace std::chrono_literals;
  using tandem::bench::measure;
  measure("in a row", tandem::bench::kPosts, 0us, false);
  measure("after 80 us", 50, 80us, false);
  measure("after 1000 us", 20, 1000us, false);
  measure("first of a step", 20, 2ms, true);
}
