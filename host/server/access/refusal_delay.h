// SPDX-License-Identifier: Apache-2.0
//
// RefusalDelay: delays answers with status 429.
//
// A caller that repeats refused requests without a pause takes processor time from other callers.
// Each caller therefore gets kBurst refusals at once and then kPerSecond per second; further ones
// are delayed, at most by kMost. A delayed answer holds only its connection. At most max_delayed
// answers are delayed at a time; further ones are sent at once. Threads: any; answers may outlive
// this object.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/clock.h"
#include "server/http/exchange.h"

namespace tandem::server {

class RefusalDelay {
 public:
  static constexpr int kBurst = 20, kPerSecond = 10;
  static constexpr std::chrono::milliseconds kMost{1000};

  explicit RefusalDelay(std::size_t max_delayed, const Clock& clock = real_clock())
      : max_delayed_(max_delayed), clock_(clock) {}

  // Counts one more refusal of this caller and sets the answer's delay. The answer counts as
  // delayed until its `held` is destroyed.
  void apply(const std::string& caller, http::Response& answer);

 private:
  const std::size_t max_delayed_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Clock::TimePoint> paid_until_;  // by caller; each refusal costs its part
  std::shared_ptr<char> delayed_ = std::make_shared<char>();  // each waiting answer holds it
};

}  // namespace tandem::server
