// SPDX-License-Identifier: Apache-2.0
//
// KeyUsage: what one key has taken of its limits.
//
// Requests and tokens fall due over a minute: what is used goes down by the limit each minute. So a
// key may spend a minute's worth at once. A request begins while the key has tokens left; its
// output is not known then, so it may go beyond, and the next requests wait until that is paid
// back. The limits come with each call, as a reload changes them. Threads: any.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "common/clock.h"
#include "server/auth.h"

namespace tandem::server {

struct LimitReached {
  std::string limit;  // "60 requests per minute"
  int retry_after_seconds = 1;
};

class KeyUsage {
 public:
  explicit KeyUsage(const Clock& clock) : clock_(clock), paid_until_(clock.now()) {}

  // Counts one more request, or says which limit is reached. Each success needs one end().
  std::optional<LimitReached> begin(const KeyLimits& limits);
  void end();

  void add_tokens(const KeyLimits& limits, std::int64_t count);

 private:
  void pay_back(const KeyLimits& limits);

  const Clock& clock_;
  std::mutex mutex_;
  Clock::TimePoint paid_until_;
  double requests_ = 0, tokens_ = 0;  // used and not yet paid back
  int concurrent_ = 0;
};

}  // namespace tandem::server
