// SPDX-License-Identifier: Apache-2.0
//
// MovingDeadline: a timer whose deadline usually moves later before it passes, for example at every
// request.
//
// Moving it later or clearing it makes no system call and runs no handler: when the timer fires it
// compares the time with the deadline, and waits again if the deadline is later. A pending wait
// holds `passed` and everything that `passed` owns, until it fires or close() drops it. Threads:
// the executor's strand.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>

namespace tandem::server::http {

class MovingDeadline {
 public:
  explicit MovingDeadline(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  // Calls `passed` once after this time, unless the deadline is set again or cleared before. Every
  // call has the same `passed`, which must keep this object alive, because the one of an earlier
  // call may still run.
  void set(std::chrono::milliseconds timeout, std::function<void()> passed);
  void clear() { deadline_ = Clock::time_point::max(); }
  void close();

 private:
  using Clock = boost::asio::steady_timer::clock_type;

  void wait(std::function<void()> passed);

  boost::asio::steady_timer timer_;
  Clock::time_point deadline_ = Clock::time_point::max();
  bool is_waiting_ = false;
};

}  // namespace tandem::server::http
