// SPDX-License-Identifier: Apache-2.0
//
// Timers: one thread that calls actions at given times.
//
// Actions must be short: they post to a strand or a pool. Threads: any. After cancel() an action
// may still run once if it was due; actions therefore hold weak pointers to their objects.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace tandem::server {

class Timers {
 public:
  using Clock = std::chrono::steady_clock;
  struct Id {
    Clock::time_point at;
    std::uint64_t number = 0;  // 0: none
    auto operator<=>(const Id&) const = default;
  };

  Timers();
  ~Timers();  // stop()

  Id after(Clock::duration duration, std::function<void()> action);
  void cancel(const Id& id);

  // Drops all actions. Must not be called from an action.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Id, std::function<void()>> actions_;  // by time
  std::uint64_t last_number_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tandem::server
