// SPDX-License-Identifier: Apache-2.0
//
// A delivery runs under the lock, so none runs once wait() has given up.
#include "parallel/unit_thread.h"

#include <utility>

#include "common/error.h"

namespace tandem::device::parallel {

UnitThread::UnitThread() : thread_([this] { work(); }) {}

UnitThread::~UnitThread() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void UnitThread::post(Call call) {
  {
    const std::scoped_lock lock(mutex_);
    TANDEM_CHECK(!is_given_up_);
    calls_.push_back(std::move(call));
  }
  changed_.notify_all();
}

bool UnitThread::wait(Deadline::Clock::time_point end, std::exception_ptr& failure) {
  std::unique_lock lock(mutex_);
  const auto is_done = [this] { return calls_.empty() && !is_busy_; };
  if (end == Deadline::Clock::time_point::max()) {
    changed_.wait(lock, is_done);
  } else if (!changed_.wait_until(lock, end, is_done)) {
    is_given_up_ = true;
    calls_.clear();
    return false;
  }
  failure = std::exchange(failure_, nullptr);
  return true;
}

void UnitThread::run_first(std::unique_lock<std::mutex>& lock) {
  const Call call = std::move(calls_.front());
  calls_.pop_front();
  if (failure_ != nullptr) return;
  is_busy_ = true;
  lock.unlock();
  try {
    const Delivery delivery = call();
    lock.lock();
    if (delivery && !is_given_up_) delivery();
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    failure_ = std::current_exception();
  }
  is_busy_ = false;
}

void UnitThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !calls_.empty(); });
    if (calls_.empty()) return;
    run_first(lock);
    changed_.notify_all();
  }
}

}  // namespace tandem::device::parallel
