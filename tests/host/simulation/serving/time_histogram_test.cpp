// SPDX-License-Identifier: Apache-2.0
//
// Percentiles against a sorted list.
#include "simulation/serving/time_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tandem::simulation {
namespace {

TEST(TimeHistogram, IsWithinHalfAPercentOfASortedList) {
  std::mt19937_64 random(9);
  TimeHistogram histogram;
  std::vector<double> times;
  for (int i = 0; i < 10000; ++i) {
    const double time = 1e-5 * std::exp(static_cast<double>(random() % 1500) / 100);
    times.push_back(time);
    histogram.add(time);
    if (i % 3 == 0) times.push_back(time), histogram.add(time);
  }
  std::ranges::sort(times);
  for (const double quantile : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(quantile * times.size()));
    const double exact = times[rank == 0 ? 0 : rank - 1];
    EXPECT_NEAR(histogram.quantile(quantile) / exact, 1, 0.005) << quantile;
  }
  EXPECT_EQ(histogram.count(), times.size());
  EXPECT_EQ(histogram.most(), times.back());
}

TEST(TimeHistogram, WithoutTimesIsZeroAndTakesAnyTime) {
  TimeHistogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0);
  EXPECT_EQ(histogram.mean(), 0);
  histogram.add(0);
  histogram.add(1e9);
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_LE(histogram.quantile(0.5), 1.1e-6);
}

}  // namespace
}  // namespace tandem::simulation
