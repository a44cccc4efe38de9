// SPDX-License-Identifier: Apache-2.0
//
// Two leaky buckets. Their levels go down with the time since the last call.
#include "server/access/key_usage.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/counted.h"

namespace tandem::server {
namespace {

constexpr double kSecondsPerMinute = 60;
constexpr double kRounding = 1e-6;  // of sums of fractions

// Whole seconds until `excess` is paid back, and a little more than that.
int seconds_to_pay(double excess, std::int64_t per_minute) {
  const double seconds = excess * kSecondsPerMinute / static_cast<double>(per_minute);
  const double most = std::numeric_limits<int>::max() / 2;
  return 1 + static_cast<int>(std::floor(std::min(seconds, most)));
}

void pay(double& used, std::int64_t per_minute, double seconds) {
  const double paid = static_cast<double>(per_minute) * seconds / kSecondsPerMinute;
  used = per_minute == 0 ? 0 : std::max(0.0, used - paid);
}

}  // namespace

void KeyUsage::pay_back(const KeyLimits& limits) {
  const Clock::TimePoint now = clock_.now();
  const double seconds = std::chrono::duration<double>(now - paid_until_).count();
  paid_until_ = now;
  pay(requests_, limits.requests_per_minute, seconds);
  pay(tokens_, limits.tokens_per_minute, seconds);
}

std::optional<LimitReached> KeyUsage::begin(const KeyLimits& limits) {
  const std::lock_guard lock(mutex_);
  pay_back(limits);
  if (limits.concurrent_requests > 0 && concurrent_ >= limits.concurrent_requests) {
    return LimitReached{counted(limits.concurrent_requests, "request") + " at a time", 1};
  }
  const auto most_requests = static_cast<double>(limits.requests_per_minute);
  if (limits.requests_per_minute > 0 && requests_ + 1 > most_requests + kRounding) {
    return LimitReached{counted(limits.requests_per_minute, "request") + " per minute",
                        seconds_to_pay(requests_ + 1 - most_requests, limits.requests_per_minute)};
  }
  const auto most_tokens = static_cast<double>(limits.tokens_per_minute);
  if (limits.tokens_per_minute > 0 && tokens_ >= most_tokens) {
    return LimitReached{counted(limits.tokens_per_minute, "token") + " per minute",
                        seconds_to_pay(tokens_ - most_tokens, limits.tokens_per_minute)};
  }
  ++concurrent_;
  requests_ += limits.requests_per_minute > 0 ? 1 : 0;
  return std::nullopt;
}

void KeyUsage::end() {
  const std::lock_guard lock(mutex_);
  --concurrent_;
}

void KeyUsage::add_tokens(const KeyLimits& limits, std::int64_t count) {
  if (limits.tokens_per_minute == 0) return;
  const std::lock_guard lock(mutex_);
  pay_back(limits);
  tokens_ += static_cast<double>(count);
}

}  // namespace tandem::server
