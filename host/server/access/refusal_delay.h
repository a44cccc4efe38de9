// SPDX-License-Identifier: Apache-2.0
//
// RefusalDelay: how long answers of status 429 wait in the server.
//
// A caller that repeats refused requests without a pause takes the processors from the others. So
// each caller gets kBurst refusals at once and then kPerSecond in a second; further ones wait for
// their turn, but kMost at most. A waiting answer holds its connection and nothing else. At most
// max_delayed wait at a time; beyond them answers go out at once. Threads: any; answers may outlive
// this.
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
  // waiting until what it holds is destroyed.
  void apply(const std::string& caller, http::Response& answer);

 private:
  const std::size_t max_delayed_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Clock::TimePoint> paid_until_;  // by caller; each refusal costs its part
  std::shared_ptr<char> delayed_ = std::make_shared<char>();  // each waiting answer holds it
};

}  // namespace tandem::server
