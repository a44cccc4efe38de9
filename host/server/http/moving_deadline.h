// SPDX-License-Identifier: Apache-2.0
//
// MovingDeadline: a timer whose time is mostly moved later before it passes, as with every request.
//
// Moving it later or clearing it costs no call of the system and no handler: the timer looks at the
// deadline when it fires, and waits again if that is later. A wait that is pending holds `passed`,
// and so what that holds, until it fires or close() drops it. Threads: the executor's strand.
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
  // call has the same `passed`, which must keep this object alive: that of an earlier call may run.
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
