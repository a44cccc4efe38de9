// SPDX-License-Identifier: Apache-2.0
//
// Accesses that disprove a claim of a loop, and accesses that do not.
#include "emulation/card/checks/dependence_watch.h"

#include <gtest/gtest.h>

namespace tandem::emulation {
namespace {

constexpr uint64_t kLoop = 0x7000'0000, kFrame = kLoop - 64;
constexpr uint64_t kArray = 0x1000;
const char* const kFile = "k.cpp";
const char* const kName = "x";

// A loop with one claim about 1 KiB.
struct Watch : DependenceWatch {
  explicit Watch(unsigned kinds, unsigned distance = 0) {
    begin_loop(kLoop);
    next_turn(kLoop);
    add_claim(kLoop, {kName, kFile, 3, kinds, distance}, {kArray, kArray + 1024});
  }
  std::optional<DependenceViolation> load(uint64_t offset, uint64_t bytes = 4) {
    return touch({kArray + offset, kArray + offset + bytes}, false, kFile, kFrame);
  }
  std::optional<DependenceViolation> store(uint64_t offset, uint64_t bytes = 4) {
    return touch({kArray + offset, kArray + offset + bytes}, true, kName, kFrame);
  }
};

TEST(DependenceWatch, AReadOfAnEarlierIterationsWriteDisprovesTheClaim) {
  Watch watch(kRaw);
  EXPECT_FALSE(watch.store(8));
  EXPECT_FALSE(watch.load(8));  // in the same iteration
  watch.next_turn(kLoop);
  watch.next_turn(kLoop);
  EXPECT_FALSE(watch.load(12));
  const auto found = watch.load(8);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, kRaw);
  EXPECT_EQ(found->distance, 2u);
  EXPECT_EQ(found->earlier, kName);
  EXPECT_EQ(found->claim.line, 3);
}

TEST(DependenceWatch, OnlyTheClaimedOrdersCount) {
  for (const unsigned kinds : {kRaw, kWar, kWaw}) {
    Watch watch(kinds);
    watch.load(0);
    watch.store(4);
    watch.store(8);
    watch.next_turn(kLoop);
    EXPECT_EQ(watch.store(0).has_value(), kinds == kWar);
    EXPECT_EQ(watch.store(4).has_value(), kinds == kWaw);
    EXPECT_EQ(watch.load(8).has_value(), kinds == kRaw);
  }
}

TEST(DependenceWatch, BytesAndRangesAreExact) {
  Watch watch(kRaw);
  watch.store(1, 1);
  watch.store(1020, 8);  // across the end
  watch.next_turn(kLoop);
  EXPECT_FALSE(watch.load(0, 1));
  EXPECT_FALSE(watch.load(2, 2));
  EXPECT_FALSE(watch.load(1024, 4));
  EXPECT_TRUE(watch.load(0, 4));
  EXPECT_TRUE(watch.load(1020, 4));
}

TEST(DependenceWatch, AClaimedDistanceAllowsThatDistance) {
  Watch watch(kRaw, 4);
  watch.store(0);
  for (int turn = 0; turn < 3; ++turn) watch.next_turn(kLoop);
  EXPECT_TRUE(watch.load(0));
  watch.next_turn(kLoop);
  EXPECT_FALSE(watch.load(0));
}

TEST(DependenceWatch, InsideAnIterationOnlyThatIterationCounts) {
  Watch watch(kRaw | kInside);
  watch.store(0);
  EXPECT_TRUE(watch.load(0));
  watch.next_turn(kLoop);
  EXPECT_FALSE(watch.load(0));
}

TEST(DependenceWatch, APointerThatMovesClaimsItsMemoryOnce) {
  Watch watch(kRaw);
  const DependenceClaim claim{kName, kFile, 3, kRaw, 0};
  EXPECT_TRUE(watch.has_claim(kLoop, claim, kArray));
  EXPECT_TRUE(watch.has_claim(kLoop, claim, kArray + 1020));
  EXPECT_FALSE(watch.has_claim(kLoop, claim, kArray + 1024));
  EXPECT_FALSE(watch.has_claim(kLoop, claim, kArray - 4));
  watch.add_claim(kLoop, claim, {kArray - 4, kArray + 1024});
  EXPECT_TRUE(watch.has_claim(kLoop, claim, kArray - 4));
  watch.store(static_cast<uint64_t>(-4));
  watch.next_turn(kLoop);
  EXPECT_TRUE(watch.load(static_cast<uint64_t>(-4)));
}

TEST(DependenceWatch, FarIterationsAndEndedLoopsDoNotCount) {
  Watch watch(kRaw);
  watch.store(0);
  for (uint32_t turn = 0; turn < DependenceWatch::kWindow; ++turn) watch.next_turn(kLoop);
  EXPECT_TRUE(watch.load(0));
  watch.next_turn(kLoop);
  EXPECT_FALSE(watch.load(0));
  watch.store(0);
  watch.end_loop(kLoop);
  EXPECT_FALSE(watch.active());
  watch.begin_loop(kLoop);
  watch.next_turn(kLoop);
  EXPECT_FALSE(watch.load(0));
}

TEST(DependenceWatch, OtherStacksAreOtherProcesses) {
  Watch watch(kRaw);
  watch.store(0);
  watch.next_turn(kLoop);
  for (const uint64_t frame : {kLoop + 64, kLoop - (uint64_t{300} << 20)}) {
    EXPECT_FALSE(watch.touch({kArray, kArray + 4}, false, kFile, frame));
  }
  EXPECT_TRUE(watch.load(0));
}

TEST(DependenceWatch, RestrictedPointersAreForAllProcesses) {
  Watch watch(kRaw | kWar | kInside | kRestrict);
  const auto from_elsewhere = [&](uint64_t at, bool writes) {
    return watch.touch({kArray + at, kArray + at + 4}, writes, kFile, kLoop + 64).has_value();
  };
  EXPECT_FALSE(from_elsewhere(0, false));
  EXPECT_FALSE(from_elsewhere(0, false));
  EXPECT_TRUE(from_elsewhere(0, true));
  EXPECT_FALSE(from_elsewhere(4, true));
  EXPECT_TRUE(from_elsewhere(4, false));
}

// Many iterations keep the entries of the last ones only, and those are exact.
TEST(DependenceWatch, OldEntriesAreDroppedAndNewOnesStay) {
  DependenceWatch watch;
  watch.begin_loop(kLoop);
  watch.add_claim(kLoop, {kName, kFile, 3, kRaw, 0}, {0, uint64_t{1} << 40});
  for (uint64_t turn = 1; turn <= 300000; ++turn) {
    watch.next_turn(kLoop);
    ASSERT_FALSE(watch.touch({turn * 8, turn * 8 + 4}, true, kName, kFrame)) << turn;
    const auto found = watch.touch({turn * 8 - 8, turn * 8 - 4}, false, kFile, kFrame);
    ASSERT_EQ(found.has_value(), turn > 1) << turn;
  }
}

}  // namespace
}  // namespace tandem::emulation
