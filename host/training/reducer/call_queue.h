// SPDX-License-Identifier: Apache-2.0
//
// CallQueue: the reducer's own thread. It runs calls one after another, in the order of submit().
//
// A ticket is a call's number. wait() throws the call's error, each time that it is called (kept
// for the last kMostErrors failed calls). The queue measures how long callers wait: this is the
// part of a call's time that no other work hides. Threads: any. The destructor runs the queued
// calls.
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
  std::function<void(const CallTimes&)> finished;  // may be empty; before waits end
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
  Ticket first_open_ = 1;  // the first that is not done
  std::map<Ticket, std::exception_ptr> errors_;
  std::map<std::uint64_t, SteadyClock::time_point> last_submitted_;  // by step
  int waiting_ = 0;
  SteadyClock::time_point waiting_since_;
  double waited_seconds_ = 0;  // while at least one thread waited, until waiting_since_
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace tandem::training
