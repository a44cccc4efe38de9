// SPDX-License-Identifier: Apache-2.0
//
// TimeHistogram: percentiles of many times in little memory.
//
// Buckets grow by 0.5 %, from one microsecond to ten days, so a percentile is exact within 0.5 %.
// Cost of add(): a logarithm; only a comparison if the time equals that of the last call.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem::simulation {

class TimeHistogram {
 public:
  TimeHistogram();

  void add(double seconds, std::uint64_t count = 1);
  // The smallest time t such that at least this fraction (0..1) of all times is <= t. 0 without
  // times.
  double quantile(double quantile) const;
  double mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }
  double most() const { return most_; }
  std::uint64_t count() const { return count_; }

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  double sum_ = 0, most_ = 0;
  double last_time_ = -1;
  std::size_t last_bucket_ = 0;
};

}  // namespace tandem::simulation
