// SPDX-License-Identifier: Apache-2.0
//
// Accesses of several units to the same bytes.
#include "emulation/card/checks/race_map.h"

#include <gtest/gtest.h>

namespace tandem::emulation {
namespace {

constexpr uint64_t kMapBytes = 1 << 20;

TEST(RaceMap, TwoRunningWritersOfOneByteConflict) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  map.begin_run(2);
  EXPECT_FALSE(map.touch(1, 100, 4, true, 77));
  const auto conflict = map.touch(2, 103, 1, true, 5);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->unit, 1u);
  EXPECT_TRUE(conflict->wrote);
  EXPECT_EQ(conflict->code_offset, 77u);
}

TEST(RaceMap, NeighbouringBytesAreNoConflict) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  map.begin_run(2);
  EXPECT_FALSE(map.touch(1, 100, 2, true, 0));
  EXPECT_FALSE(map.touch(2, 102, 2, true, 0));
  EXPECT_FALSE(map.touch(1, 100, 2, false, 0));
}

TEST(RaceMap, AWriteAfterAReadConflictsAndTwoReadsDoNot) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  map.begin_run(2);
  EXPECT_FALSE(map.touch(1, 64, 64, false, 3));
  EXPECT_FALSE(map.touch(2, 64, 64, false, 4));
  const auto conflict = map.touch(1, 127, 1, true, 5);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->unit, 2u);
  EXPECT_FALSE(conflict->wrote);
}

TEST(RaceMap, ARunThatHasEndedIsNoConflict) {
  RaceMap map(kMapBytes);
  map.begin_run(1);
  EXPECT_FALSE(map.touch(1, 8, 8, true, 0));
  map.end_run(1);
  map.begin_run(2);
  EXPECT_FALSE(map.touch(2, 8, 8, true, 0));
  map.begin_run(1);  // unit 1's next run did not touch them
  EXPECT_FALSE(map.touch(2, 8, 8, true, 0));
}

TEST(RaceMap, OnesOwnAccessesAreNoConflict) {
  RaceMap map(kMapBytes);
  map.begin_run(0);
  EXPECT_FALSE(map.touch(0, 0, 8, true, 0));
  EXPECT_FALSE(map.touch(0, 0, 8, false, 0));
  EXPECT_FALSE(map.touch(0, 4, 8, true, 0));
}

}  // namespace
}  // namespace tandem::emulation
