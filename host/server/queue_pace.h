// SPDX-License-Identifier: Apache-2.0
//
// QueuePace: measures how fast generations end, for the header Retry-After.
//
// Older generations count less: their weight halves every 30 s. Time without any generation does
// not count. Threads: any.
#pragma once

#include <mutex>

#include "common/clock.h"
#include "server/generation_service.h"

namespace tandem::server {

class QueuePace {
 public:
  explicit QueuePace(const Clock& clock = real_clock()) : clock_(clock) {}

  // Counts `count` submitted generations; one that has ended; `count` that were not accepted.
  void count_begin(int count = 1);
  void count_end();
  void count_refused(int count = 1);

  // The seconds until `waiting` more generations have ended, 1..120. Before the first end: about
  // the running time of the first ones so far.
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

// Submits `count` generations by `submit`, which returns a SubmitResult. Counts them first, because
// they may end before `submit` returns.
template <typename Submit>
SubmitResult submit_counted(QueuePace& pace, int count, const Submit& submit) {
  pace.count_begin(count);
  try {
    SubmitResult result = submit();
    if (result.status != SubmitStatus::kAccepted) pace.count_refused(count);
    return result;
  } catch (...) {
    pace.count_refused(count);
    throw;
  }
}

}  // namespace tandem::server
