// SPDX-License-Identifier: Apache-2.0
//
// Every value has one owner, whatever the number of ranks.
#include "training/offload/owned_range.h"

#include <gtest/gtest.h>

namespace tandem::training {
namespace {

TEST(OwnedRange, TheRangesOfAllRanksCoverEveryValueOnceInOrder) {
  for (const int world : {1, 2, 3, 7, 16}) {
    for (const std::uint64_t rows : {1u, 5u, 163u, 164u, 1000u, 40'001u}) {
      std::uint64_t covered = 0;
      for (int rank = 0; rank < world; ++rank) {
        const OwnedRange range = owned_range(4, rows * 100, 100, true, rank, world);
        if (range.count == 0) continue;
        EXPECT_EQ(range.first, covered);
        EXPECT_EQ(range.count % 100, 0u);
        covered += range.count;
      }
      EXPECT_EQ(covered, rows * 100) << world << " ranks, " << rows << " rows";
    }
  }
}

TEST(OwnedRange, CutsOfDenseParametersKeepTheAlignmentOfACopy) {
  const OwnedRange second = owned_range(0, 100'001, 7, false, 1, 3);
  EXPECT_EQ(second.first % kUnitValues, 0u);
  EXPECT_NEAR(static_cast<double>(second.count), 100'001 / 3.0, kUnitValues);
}

TEST(OwnedRange, SmallParametersGoRoundTheRanks) {
  for (std::uint32_t number = 0; number < 6; ++number) {
    for (int rank = 0; rank < 3; ++rank) {
      const std::uint64_t expected = number % 3 == static_cast<std::uint32_t>(rank) ? 300 : 0;
      EXPECT_EQ(owned_range(number, 300, 1, false, rank, 3), (OwnedRange{0, expected}));
    }
  }
}

}  // namespace
}  // namespace tandem::training
