// SPDX-License-Identifier: Apache-2.0
//
// SignalWatch: handles SIGTERM, SIGINT and SIGHUP for the daemon, from before it loads a model.
//
// A stop signal ends the process at once while it loads. Once it serves, the first one ends
// wait_for_stop(), so that the daemon drains. A repetition within a second counts as the same
// signal, because `timeout` and terminals send it twice. A later one makes stops_now() true, and
// ends the process if it is still there two seconds later, or at the next signal. SIGHUP asks to
// reload. Threads: make it before any other thread, so that all of them have the signals blocked;
// its own thread takes them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace tandem::apps {

// Counts stop signals by their times.
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

  // Call it when the model is loaded. From then on wait_for_stop() handles stop signals.
  void begin_to_serve();

  // Returns the signal; until then calls `reload` in this thread after each SIGHUP.
  int wait_for_stop(const std::function<void()>& reload);

  bool stops_now() const;

 private:
  void watch();
  void take(int signal);
  void take_stop(int signal);
  [[noreturn]] static void end_process(int signal);

  int signals_ = -1, end_ = -1;  // a signalfd; an eventfd that ends the thread
  mutable std::mutex mutex_;     // guards what follows
  std::condition_variable changed_;
  bool serves_ = false, reloads_ = false, stops_now_ = false;
  int stop_ = 0;
  StopCount stops_;
  std::thread thread_;
};

}  // namespace tandem::apps
