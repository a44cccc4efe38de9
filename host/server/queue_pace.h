// SPDX-License-Identifier: Apache-2.0
//
// QueuePace: measures how fast generations end, for the field Retry-After.
//
// Older generations count less: the weight of each halves every 30 s. Time in which nothing is
// generated does not count. Threads: any.
#pragma once

#include <mutex>

#include "common/clock.h"
#include "server/generation_service.h"

namespace tandem::server {

class QueuePace {
 public:
  explicit QueuePace(const Clock& clock = real_clock()) : clock_(clock) {}

  // A generation is submitted; it has ended; it was not accepted.
  void count_begin();
  void count_end();
  void count_refused();

  // Seconds until `waiting` more have ended, 1..120. While none has ended yet: about as long as the
  // first ones run already.
  int seconds_for(int waiting) const;

 private:
  struct Window {
    double ends = 0;     // their number, by age
    double seconds = 0;  // the time in which they ended, by age
  };
  Window window_at(Clock::TimePoint now) const;

  const Clock& clock_;
  mutable std::mutex mutex_;
  int num_active_ = 0;
  Clock::TimePoint at_;  // of window_
  Window window_;
};

// Submits by `submit`, which returns a SubmitResult. The generation may end before that, so it is
// counted first.
template <typename Submit>
SubmitResult submit_counted(QueuePace& pace, const Submit& submit) {
  pace.count_begin();
  try {
    const SubmitResult result = submit();
    if (result.status != SubmitStatus::kAccepted) pace.count_refused();
    return result;
  } catch (...) {
    pace.count_refused();
    throw;
  }
}

}  // namespace tandem::server
