// SPDX-License-Identifier: Apache-2.0
//
// Logarithmic buckets; a percentile is the middle of its bucket.
#include "simulation/serving/time_histogram.h"

#include <algorithm>
#include <cmath>

namespace tandem::simulation {
namespace {

constexpr double kLeast = 1e-6, kMost = 864'000;
const double kLogGrowth = std::log(1.005);
const auto kBuckets = static_cast<std::size_t>(std::log(kMost / kLeast) / kLogGrowth) + 2;

}  // namespace

TimeHistogram::TimeHistogram() : buckets_(kBuckets) {}

void TimeHistogram::add(double seconds, std::uint64_t count) {
  if (seconds != last_time_) {
    const double level = std::log(std::clamp(seconds, kLeast, kMost) / kLeast) / kLogGrowth;
    last_bucket_ = static_cast<std::size_t>(level);
    last_time_ = seconds;
  }
  buckets_[last_bucket_] += count;
  count_ += count;
  sum_ += seconds * static_cast<double>(count);
  most_ = std::max(most_, seconds);
}

double TimeHistogram::quantile(double quantile) const {
  if (count_ == 0) return 0;
  const double wanted = std::max(1.0, std::ceil(quantile * static_cast<double>(count_)));
  std::uint64_t passed = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    passed += buckets_[i];
    if (static_cast<double>(passed) < wanted) continue;
    const double middle = kLeast * std::exp((static_cast<double>(i) + 0.5) * kLogGrowth);
    return std::min(middle, most_);
  }
  return most_;
}

}  // namespace tandem::simulation
