// SPDX-License-Identifier: Apache-2.0
//
// SearchStop: ends a search at a deadline or after a number of steps, whichever is first.
//
// A search calls is_reached() once per step. The clock is read once per `steps_per_reading` steps:
// 16, or 1 if steps are long. With a number of steps and no deadline, the same seed gives the same
// result. Threads: one per object.
#pragma once

#include <cstdint>
#include <limits>

#include "common/deadline.h"

namespace tandem::planner {

constexpr std::int64_t kNoStepLimit = std::numeric_limits<std::int64_t>::max();

class SearchStop {
 public:
  explicit SearchStop(Deadline deadline, std::int64_t most_steps = kNoStepLimit,
                      std::int64_t steps_per_reading = 16)
      : deadline_(deadline), most_steps_(most_steps), steps_per_reading_(steps_per_reading) {}

  // Counts a step, and returns whether the search must end.
  bool is_reached() {
    if (steps_ % steps_per_reading_ == 0 && deadline_.expired()) is_over_ = true;
    if (steps_ >= most_steps_) is_over_ = true;
    ++steps_;
    return is_over_;
  }
  bool was_reached() const { return is_over_; }

 private:
  Deadline deadline_;
  std::int64_t most_steps_, steps_per_reading_;
  std::int64_t steps_ = 0;
  bool is_over_ = false;
};

}  // namespace tandem::planner
