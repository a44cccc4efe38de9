// SPDX-License-Identifier: Apache-2.0
//
// The loops against their definitions, for lengths that end in the middle of a vector.
#include "planner/mapping/wide_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace tandem::planner {
namespace {

std::vector<double> whole_numbers(std::size_t count, std::mt19937_64& random) {
  std::vector<double> values(count);
  for (double& each : values) each = static_cast<double>(random() % 2001) - 1000;
  return values;
}

TEST(WideRows, SumsAndProductsEqualTheirDefinitions) {
  std::mt19937_64 random(4);
  for (std::size_t count = 0; count < 40; ++count) {
    const auto a = whole_numbers(count, random), b = whole_numbers(count, random),
               c = whole_numbers(count, random), d = whole_numbers(count, random);
    std::vector<double> deltas = a, expected = a;
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) {
      sum += (a[k] - b[k]) * (d[k] - c[k]);
      expected[k] += (7 - b[k]) * (3 - c[k]);
    }
    EXPECT_EQ(crossed_sum(a.data(), b.data(), c.data(), d.data(), count), sum);
    add_products(deltas.data(), 7, 3, b.data(), c.data(), count);
    EXPECT_EQ(deltas, expected);
  }
}

TEST(WideRows, TheLeastIsFoundAtEveryPlace) {
  EXPECT_EQ(least_of(nullptr, 0), std::numeric_limits<double>::infinity());
  for (std::size_t count = 1; count < 40; ++count) {
    for (std::size_t at = 0; at < count; ++at) {
      std::vector<double> values(count, 5);
      values[at] = -2;
      EXPECT_EQ(least_of(values.data(), count), -2) << count << " values, at " << at;
    }
  }
}

}  // namespace
}  // namespace tandem::planner
