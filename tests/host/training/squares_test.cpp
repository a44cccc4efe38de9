// SPDX-License-Identifier: Apache-2.0
//
// Of every number of values around the lanes.
#include "training/squares.h"

#include <gtest/gtest.h>

#include <vector>

namespace tandem::training {
namespace {

TEST(SumOfSquares, TakesEveryValueOnce) {
  std::vector<float> values;
  double expected = 0;
  for (int count = 0; count < 40; ++count) {
    EXPECT_EQ(sum_of_squares(values), expected) << count;
    values.push_back(static_cast<float>(count % 7 - 3));
    expected += static_cast<double>(values.back()) * values.back();
  }
}

// Squares of f32 neither overflow nor lose the small ones beside a large one.
TEST(SumOfSquares, AddsInF64) {
  std::vector<float> values(1 << 20, 1.0f);
  values[0] = 1e20f;
  EXPECT_GT(sum_of_squares(values), 9.9e39);
  values[0] = 16384.0f;
  EXPECT_EQ(sum_of_squares(values), 268435456.0 + 1048575.0);
}

}  // namespace
}  // namespace tandem::training
