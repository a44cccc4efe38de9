// SPDX-License-Identifier: Apache-2.0
//
// SignalWatch: handles SIGTERM, SIGINT and SIGHUP for the daemon, also while it loads a model.
//
// During loading a stop signal (SIGTERM or SIGINT) ends the process at once. While the daemon
// serves, the first stop signal ends wait_for_stop(), so that the daemon drains. A second one
// within a second is ignored, because `timeout` and terminals send it twice. A later one sets
// stops_now(); the process is killed two seconds later, or at the next signal. SIGHUP requests a
// reload. Threads: make it before any other thread, so that all threads block the signals; its own
// thread receives them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace tandem::apps {

// Classifies stop signals by the times between them.
class StopCount {
 public:
  enum class Wish { kStop, kSame, kStopNow, kKill };
  using Time = std::chrono::steady_clock::time_point;

  Wish add(Time now);

 private:
  static constexpr std::chrono::seconds kSameWithin{1};
  std::optional<Time> last_;
  int wishes_ = 0;
};

class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // Call it when the model is loaded. Afterwards stop signals end wait_for_stop().
  void begin_to_serve();

  // Waits for a stop signal and returns it. Calls `reload` on this thread after each SIGHUP.
  int wait_for_stop(const std::function<void()>& reload);

  bool stops_now() const;

 private:
  void watch();
  void take(int signal);
  void take_stop(int signal);
  [[noreturn]] static void end_process(int signal);

  int signals_ = -1, end_ = -1;  // a signalfd, and an eventfd that ends the thread
  mutable std::mutex mutex_;     // guards the members below
  std::condition_variable changed_;
  bool serves_ = false, reloads_ = false, stops_now_ = false;
  int stop_ = 0;
  StopCount stops_;
  std::thread thread_;
};

}  // namespace tandem::apps
