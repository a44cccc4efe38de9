// SPDX-License-Identifier: Apache-2.0
//
// KeyUsage: how much of its limits one key has used.
//
// The used requests and tokens decrease continuously by the limit per minute, so a key may use the
// limit of a whole minute at once. A request may begin while the key has tokens left. Its output
// may exceed them, because its length is not known; later requests then wait until the usage is
// below the limit. The limits are arguments of each call, because a reload can change them.
// Threads: any.
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
