// SPDX-License-Identifier: Apache-2.0
//
// CallQueue: the reducer's own thread. It runs calls one after another, in the order of submit().
//
// A ticket is the number of a call. wait() rethrows the error of a call every time it is called
// (kept for the last kMostErrors failed calls). The queue measures how long callers wait: this part
// of a call's time is not hidden by other work. Threads: any. The destructor runs the queued calls.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "common/deadline.h"
#include "training/reducer/options.h"

namespace tandem::training {

using Ticket = std::uint64_t;
using SteadyClock = std::chrono::steady_clock;

struct CallTimes {
  SteadyClock::time_point begin, end;
  double seconds = 0;
  double hidden_seconds = 0;
};

struct QueuedCall {
  std::uint64_t step = 0;
  bool last = false;  // of its step
  std::function<void()> run;
  std::function<void(const CallTimes&)> finished;  // called before waits end; may be empty
};

class CallQueue {
 public:
  static constexpr std::size_t kMostErrors = 1024;

  explicit CallQueue(HiddenUntil hidden_until);
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  Ticket submit(QueuedCall call);
  // False if the deadline passes first. Rethrows the call's error. Error for an unknown ticket.
  bool wait(Ticket ticket, Deadline deadline);
  bool somebody_waits();

 private:
  void run_calls();
  CallTimes run(QueuedCall& call, std::exception_ptr& error);
  double waited_until(SteadyClock::time_point now) const;

  const HiddenUntil hidden_until_;
  std::mutex mutex_;
  std::condition_variable submitted_, done_;
  std::deque<QueuedCall> queue_;
  Ticket next_ = 1;        // the next call to be submitted
  Ticket first_open_ = 1;  // the first one that is not finished
  std::map<Ticket, std::exception_ptr> errors_;
  std::map<std::uint64_t, SteadyClock::time_point> last_submitted_;  // by step
  int waiting_ = 0;
  SteadyClock::time_point waiting_since_;
  double waited_seconds_ = 0;  // until waiting_since_: the time in which at least one thread waited
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace tandem::training
