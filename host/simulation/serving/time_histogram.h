// SPDX-License-Identifier: Apache-2.0
//
// TimeHistogram: percentiles of very many times in little memory.
//
// Buckets grow by 0.5 %, from a microsecond to ten days, so a percentile is within 0.5 %. Cost of
// add(): a logarithm, or nothing but a comparison where the time is that of the last call.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem::simulation {

class TimeHistogram {
 public:
  TimeHistogram();

  void add(double seconds, std::uint64_t count = 1);
  // 0 without times. `quantile` 0..1; the least time that at least so many times do not exceed.
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
