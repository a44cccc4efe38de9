// SPDX-License-Identifier: Apache-2.0
//
// Steps whose times are known, and the cost of a row that follows from them.
#include "engine/speculation/row_pace.h"

#include <gtest/gtest.h>

#include <random>

namespace tandem::engine {
namespace {

TEST(RowPace, WithoutAStepSevenRowsAreAddedToItsOwn) {
  EXPECT_EQ(RowPace().share_of_row(1), 1.0 / 8);
  EXPECT_EQ(RowPace().share_of_row(9), 1.0 / 16);
}

TEST(RowPace, EqualStepsSayNothingAboutARow) {
  RowPace pace;
  for (int i = 0; i < 200; ++i) pace.record(4, 0.5);
  EXPECT_NEAR(pace.share_of_row(4), 1.0 / 11, 1e-6);
}

// t(rows) = 80 ms + 5 ms per row.
TEST(RowPace, LearnsTheLineOfStepsThatDiffer) {
  RowPace pace;
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const double rows = 1 + random() % 6;
    pace.record(rows, 0.08 + 0.005 * rows);
  }
  EXPECT_NEAR(pace.share_of_row(1), 5.0 / 85, 0.002);
  EXPECT_NEAR(pace.share_of_row(4), 5.0 / 100, 0.002);
}

TEST(RowPace, FollowsADeviceThatBecomesBoundByItsRows) {
  RowPace pace;
  for (int i = 0; i < 200; ++i) pace.record(1 + i % 4, 0.1);
  EXPECT_LT(pace.share_of_row(1), 0.02);
  for (int i = 0; i < 200; ++i) pace.record(1 + i % 4, 0.05 * (1 + i % 4));
  EXPECT_GT(pace.share_of_row(1), 0.9);
}

TEST(RowPace, OneStepThatHangsIsNoMeasureOfARow) {
  RowPace pace;
  for (int i = 0; i < 200; ++i) pace.record(1 + i % 2, 0.1 + 0.01 * (i % 2));
  const double before = pace.share_of_row(1);
  pace.record(2, 60);
  EXPECT_LT(pace.share_of_row(1), before + 0.15);
}

TEST(RowPace, AShareIsAboveZeroAndAtMostOne) {
  RowPace falling;
  for (int i = 0; i < 100; ++i) falling.record(1 + i % 2, i % 2 == 0 ? 0.2 : 0.1);
  EXPECT_GT(falling.share_of_row(1), 0);
  RowPace rising;
  for (int i = 0; i < 100; ++i) rising.record(1 + i % 2, i % 2 == 0 ? 1e-6 : 5);
  EXPECT_LE(rising.share_of_row(1), 1);
  EXPECT_GT(rising.share_of_row(1), 0.5);
}

}  // namespace
}  // namespace tandem::engine
