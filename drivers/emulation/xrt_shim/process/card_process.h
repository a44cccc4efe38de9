// SPDX-License-Identifier: Apache-2.0
//
// CardProcess: the tandem-card process of a card: the constructor connects, the destructor
// disconnects.
//
// A thread sends messages that could not be sent at once, and waits for the end of the process. It
// then calls `on_death` once, unless the object is being destroyed. A private card's process ends
// with the object. Ctrl-C in the terminal reaches the application only, because the process is in
// another process group. A process that does not answer (stopped or busy) blocks nothing: call()
// has a deadline, post() never waits, and both work again when it runs. In a forked child the
// object does nothing. Errors: the constructor throws std::runtime_error with advice. Threads:
// call() is serialised, post() may come from any; the rest is for the owner.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "emulation/xrt_shim/process/card_connection.h"

namespace tandem::emulation {

// The answer of a card.
struct CardAnswer {
  std::string problem;  // empty: success, or the reason is in `text`
  std::string text;     // "ok", "full" ..., then numbers
  std::vector<int> descriptors;
  bool is_missing = false;  // the process is alive, but did not answer in time

  bool ok() const { return problem.empty() && text.compare(0, 2, "ok") == 0; }
  // The number at `index` in the text; 0 if there is none.
  uint64_t number(size_t index) const;
};

class CardProcess {
 public:
  CardProcess(const std::function<CardConnection()>& connect, std::function<void()> on_death);
  ~CardProcess();
  CardProcess(const CardProcess&) = delete;
  CardProcess& operator=(const CardProcess&) = delete;

  // Sends a request and waits for the answer. After `timeout` without an answer the request is
  // withdrawn: if the card grants it later, it undoes the grant.
  CardAnswer call(const std::string& request, const std::vector<int>& descriptors = {},
                  std::chrono::milliseconds timeout = kCallTimeout);
  // Sends a request without an answer. The card performs it before all later requests. Returns
  // false if the process has ended.
  bool post(const std::string& request);
  // Tells the card that this client leaves. Afterwards the end of the process is not a failure.
  CardAnswer leave();
  // Kills the process.
  void end();
  // False in a child forked from the process that made the object.
  bool owned_here() const;

 private:
  using Clock = std::chrono::steady_clock;
  // Long, because a machine under load is slow, and the card may be loading another client's
  // bitstream.
  static constexpr std::chrono::milliseconds kCallTimeout{10'000};
  static constexpr std::chrono::milliseconds kLeaveTimeout{3'000};

  bool take_turn(Clock::time_point deadline);
  void end_turn();
  void watch();
  void wake_watcher();
  bool has_unsent();
  SendResult send_unsent();
  SendResult send(const std::string& text, const std::vector<int>& descriptors);
  SendResult send_before(Clock::time_point deadline, const std::string& text,
                         const std::vector<int>& descriptors);
  SendResult receive_before(Clock::time_point deadline, uint64_t number, Message& answer);

  std::function<void()> on_death_;
  // No timed mutex: the thread sanitizer does not see that one is taken by the steady clock.
  std::mutex turn_mutex_;  // held briefly
  std::condition_variable turn_ended_;
  bool is_calling_ = false;         // guarded by turn_mutex_; a caller holds it until its answer
  uint64_t last_number_ = 0;        // number of the last request
  std::mutex send_mutex_;           // held briefly
  std::deque<std::string> unsent_;  // posted to a process that does not read
  CardConnection connection_;
  int wake_event_ = -1;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> leaving_{false};
  const uint32_t owner_;
  std::unique_ptr<std::thread> watcher_;
};

}  // namespace tandem::emulation
