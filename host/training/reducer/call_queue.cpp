// SPDX-License-Identifier: Apache-2.0
//
// The queue sums the time in which any thread waits; a call uses the difference.
#include "training/reducer/call_queue.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/error.h"

namespace tandem::training {
namespace {

double seconds_between(SteadyClock::time_point begin, SteadyClock::time_point end) {
  return std::max(0.0, std::chrono::duration<double>(end - begin).count());
}

}  // namespace

CallQueue::CallQueue(HiddenUntil hidden_until)
    : hidden_until_(hidden_until), thread_([this] { run_calls(); }) {}

CallQueue::~CallQueue() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  submitted_.notify_all();
  thread_.join();
}

Ticket CallQueue::submit(QueuedCall call) {
  Ticket ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    const bool last = call.last;
    const std::uint64_t step = call.step;
    queue_.push_back(std::move(call));
    if (last) last_submitted_[step] = SteadyClock::now();
    ticket = next_++;
  }
  submitted_.notify_one();
  return ticket;
}

bool CallQueue::wait(Ticket ticket, Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (ticket == 0 || ticket >= next_) {
    throw Error("training", "there is no ticket " + std::to_string(ticket) + "; " +
                                std::to_string(next_ - 1) + " were given");
  }
  if (ticket >= first_open_) {
    if (waiting_++ == 0) waiting_since_ = SteadyClock::now();
    const auto ended = [&] { return ticket < first_open_; };
    bool done = true;
    if (deadline.is_never()) {
      done_.wait(lock, ended);
    } else {
      done = done_.wait_until(lock, deadline.time_point(), ended);
    }
    const auto now = SteadyClock::now();
    const double waited = waited_until(now);
    if (--waiting_ == 0) waited_seconds_ = waited;
    if (!done) return false;
  }
  const auto error = errors_.find(ticket);
  if (error != errors_.end()) std::rethrow_exception(error->second);
  return true;
}

bool CallQueue::somebody_waits() {
  const std::lock_guard lock(mutex_);
  return waiting_ > 0;
}

double CallQueue::waited_until(SteadyClock::time_point now) const {
  return waited_seconds_ + (waiting_ > 0 ? seconds_between(waiting_since_, now) : 0);
}

CallTimes CallQueue::run(QueuedCall& call, std::exception_ptr& error) {
  CallTimes times;
  times.begin = SteadyClock::now();
  double waited = 0;
  {
    const std::lock_guard lock(mutex_);
    waited = waited_until(times.begin);
  }
  try {
    call.run();
  } catch (...) {
    error = std::current_exception();
  }
  times.end = SteadyClock::now();
  times.seconds = seconds_between(times.begin, times.end);
  double exposed = 0;
  {
    const std::lock_guard lock(mutex_);
    exposed = waited_until(times.end) - waited;
    if (hidden_until_ == HiddenUntil::kLast) {
      const auto last = last_submitted_.find(call.step);
      exposed = last == last_submitted_.end()
                    ? 0
                    : seconds_between(std::max(last->second, times.begin), times.end);
    }
    last_submitted_.erase(last_submitted_.begin(), last_submitted_.lower_bound(call.step));
  }
  times.hidden_seconds = std::clamp(times.seconds - exposed, 0.0, times.seconds);
  return times;
}

void CallQueue::run_calls() {
  for (;;) {
    QueuedCall call;
    {
      std::unique_lock lock(mutex_);
      submitted_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      call = std::move(queue_.front());
      queue_.pop_front();
    }
    std::exception_ptr error;
    const CallTimes times = run(call, error);
    try {
      if (call.finished) call.finished(times);
    } catch (...) {  // no memory for statistics
      if (!error) error = std::current_exception();
    }
    call = {};  // frees the members before waits end
    {
      const std::lock_guard lock(mutex_);
      if (error) errors_[first_open_] = std::move(error);
      if (errors_.size() > kMostErrors) errors_.erase(errors_.begin());
      ++first_open_;
    }
    done_.notify_all();
  }
}

}  // namespace tandem::training
