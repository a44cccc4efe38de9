// SPDX-License-Identifier: Apache-2.0
//
// The middle one of some values.
#include "common/median.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Median, IsTheValueInTheMiddleWhateverTheOrder) {
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({4, 1, 3, 2}), 3) << "the upper one of two";
  EXPECT_EQ(median({}), 0);
}

}  // namespace
}  // namespace tandem
