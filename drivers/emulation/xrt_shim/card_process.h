// SPDX-License-Identifier: Apache-2.0
//
// The tandem-card process behind a card: reached on construction, watched, left on destruction.
//
// A thread of its own reaches the process (so that a private card is bound to the whole
// application, not to the thread that opened it) and waits for its end; `on_death` then runs on
// that thread, once, unless the object is being destroyed. A private card's process ends with the
// object. It is in a process group of its own: Ctrl-C in the terminal reaches the application only.
// In a forked child the object does nothing. Errors: the constructor throws std::runtime_error
// saying what to do. Threads: call() is serialised; the rest is for the owner.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "emulation/xrt_shim/card_connection.h"

namespace tandem::emulation {

// What a card answered.
struct CardAnswer {
  std::string problem;  // empty: it did what was asked, or said in `text` why not
  std::string text;     // "ok", "full" ..., then numbers
  std::vector<int> descriptors;

  bool ok() const { return problem.empty() && text.compare(0, 2, "ok") == 0; }
  // The `index`-th number of the text, 0 when there is none.
  uint64_t number(size_t index) const;
};

class CardProcess {
 public:
  // `connect` runs on the watching thread.
  CardProcess(const std::function<CardConnection()>& connect, std::function<void()> on_death);
  ~CardProcess();
  CardProcess(const CardProcess&) = delete;
  CardProcess& operator=(const CardProcess&) = delete;

  // Sends a request and waits for the answer. A process that gives none within `timeout` (stopped,
  // or code of a kernel library that never returns) is killed.
  CardAnswer call(const std::string& request, const std::vector<int>& descriptors = {},
                  std::chrono::milliseconds timeout = kCallTimeout);
  // Tells the card that this client goes; its end from then on is nobody's death.
  CardAnswer leave();
  // False in a child forked from the process that made the object.
  bool owned_here() const;

 private:
  static constexpr std::chrono::milliseconds kCallTimeout{60'000};

  void run(const std::function<CardConnection()>& connect, std::promise<void>& reached);
  void watch();

  std::function<void()> on_death_;
  std::mutex call_mutex_;
  CardConnection connection_;
  int stop_event_ = -1;
  std::atomic<bool> leaving_{false};
  const uint32_t owner_;
  std::thread watcher_;
};

}  // namespace tandem::emulation
