// SPDX-License-Identifier: Apache-2.0
//
// The tandem-card process behind a card: reached on construction, watched, left on destruction.
//
// A thread of its own sends what could not be sent at once, and waits for the process' end;
// `on_death` then runs on that thread, once, unless the object is being destroyed. A private card's
// process ends with the object. It is in a session of its own: Ctrl-C in the terminal reaches
// the application only. A process that gives no answer (stopped, or busy) holds nobody: call() has
// a deadline, post() never waits, and both work again once it goes on. In a forked child the object
// does nothing. Errors: the constructor throws std::runtime_error saying what to do. Threads:
// call() is serialised, post() is for all; the rest is for the owner.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "emulation/xrt_shim/process/card_connection.h"

namespace tandem::emulation {

// What a card answered.
struct CardAnswer {
  std::string problem;  // empty: it did what was asked, or said in `text` why not
  std::string text;     // "ok", "full" ..., then numbers
  std::vector<int> descriptors;
  bool is_missing = false;  // the process lives, but gave none in time

  bool ok() const { return problem.empty() && text.compare(0, 2, "ok") == 0; }
  // The `index`-th number of the text, 0 when there is none.
  uint64_t number(size_t index) const;
};

class CardProcess {
 public:
  CardProcess(const std::function<CardConnection()>& connect, std::function<void()> on_death);
  ~CardProcess();
  CardProcess(const CardProcess&) = delete;
  CardProcess& operator=(const CardProcess&) = delete;

  // Sends a request and waits for the answer. When that does not come within `timeout` the card
  // gives back what it grants later.
  CardAnswer call(const std::string& request, const std::vector<int>& descriptors = {},
                  std::chrono::milliseconds timeout = kCallTimeout);
  // Has the card do something without an answer, before anything that is asked later. False when
  // the process has ended.
  bool post(const std::string& request);
  // Tells the card that this client goes; its end from then on is nobody's death.
  CardAnswer leave();
  // Kills the process.
  void end();
  // False in a child forked from the process that made the object.
  bool owned_here() const;

 private:
  using Clock = std::chrono::steady_clock;
  // Generous: a loaded machine is slow, and another client's bitstream may be loading.
  static constexpr std::chrono::milliseconds kCallTimeout{10'000};
  static constexpr std::chrono::milliseconds kLeaveTimeout{3'000};

  void watch();
  void wake_watcher();
  bool has_unsent();
  SendResult send_unsent();
  SendResult send(const std::string& text, const std::vector<int>& descriptors);
  SendResult send_before(Clock::time_point deadline, const std::string& text,
                         const std::vector<int>& descriptors);
  SendResult receive_before(Clock::time_point deadline, uint64_t number, Message& answer);

  std::function<void()> on_death_;
  std::timed_mutex call_mutex_;
  uint64_t last_number_ = 0;        // of a request
  std::mutex send_mutex_;           // held briefly
  std::deque<std::string> unsent_;  // what was posted to a process that does not read
  CardConnection connection_;
  int wake_event_ = -1;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> leaving_{false};
  const uint32_t owner_;
  std::unique_ptr<std::thread> watcher_;
};

}  // namespace tandem::emulation
