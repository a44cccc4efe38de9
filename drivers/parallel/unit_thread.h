// SPDX-License-Identifier: Apache-2.0
//
// UnitThread: the calls of one unit, one after the other, in a thread of their own.
//
// A call works on memory of its own and returns a delivery, which writes to the caller's memory. A
// call that does not end in time is given up: its delivery is left out, and so are the calls behind
// it. Nobody waits for it but the destructor, because the call still uses the unit. Ownership: a
// call owns or outlives what it captures. Threads: one caller.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "common/deadline.h"

namespace tandem::device::parallel {

class UnitThread {
 public:
  using Delivery = std::function<void()>;  // empty: the call has none
  using Call = std::function<Delivery()>;

  UnitThread();
  ~UnitThread();  // after the calls that are posted, unless they were given up
  UnitThread(const UnitThread&) = delete;
  UnitThread& operator=(const UnitThread&) = delete;

  // A call that follows one that failed, in itself or in its delivery, is left out, until wait()
  // has told it. None may be posted after wait() gave up.
  void post(Call call);

  // True once all calls have ended; `failure` is then the first failure, or null. False when one
  // has not ended at `end`: all are given up, for good.
  bool wait(Deadline::Clock::time_point end, std::exception_ptr& failure);

 private:
  void work();
  void run_first(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call> calls_;
  bool is_busy_ = false, ends_ = false, is_given_up_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace tandem::device::parallel
