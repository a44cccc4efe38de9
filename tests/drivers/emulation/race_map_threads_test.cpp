// SPDX-License-Identifier: Apache-2.0
//
// Accesses of units on threads, at the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "emulation/card/checks/race_map.h"

namespace tandem::emulation {
namespace {

// Both begin in the same block at the same time: no access of either is lost.
TEST(RaceMapThreads, UnitsThatClaimABlockAtOnceAreBothFound) {
  RaceMap map(1 << 20);
  for (const uint32_t each : {1u, 2u, 3u}) map.begin_run(each);
  for (uint64_t block = 0; block < 200; ++block) {
    std::atomic<int> ready{0};
    const auto write = [&](uint32_t unit) {
      ++ready;
      while (ready.load() < 2) std::this_thread::yield();
      map.touch(unit, block * 4096 + unit * 64, 8, true, unit);
    };
    std::thread other(write, 2);
    write(1);
    other.join();
    for (const uint32_t unit : {1u, 2u}) {
      const auto conflict = map.touch(3, block * 4096 + unit * 64, 8, false, 0);
      ASSERT_TRUE(conflict) << "block " << block;
      EXPECT_EQ(conflict->code_offset, unit);
    }
  }
}

// Each of the two looks before the other has left its mark.
void expect_conflicts(bool both_write, bool in_entries) {
  constexpr uint64_t kRounds = 500;
  RaceMap map((kRounds + 1) * 4096);
  for (const uint32_t each : {1u, 2u, 3u}) map.begin_run(each);
  std::vector<std::atomic<bool>> found(kRounds);
  std::atomic<uint64_t> arrived{0};
  const auto access = [&](uint32_t unit, bool writes) {
    for (uint64_t round = 0; round < kRounds; ++round) {
      ++arrived;
      for (int turn = 1; arrived.load() < 2 * (round + 1); ++turn) {
        if (turn % 4096 == 0) std::this_thread::yield();
      }
      if (map.touch(unit, round * 4096, 4, writes, unit)) found[round] = true;
    }
  };
  for (uint64_t round = 0; in_entries && round < kRounds; ++round) {
    map.touch(3, round * 4096 + 2048, 4, true, 3);
    map.touch(3, round * 4096 + 3072, 4, false, 3);
  }
  std::thread other(access, 2, both_write);
  access(1, true);
  other.join();
  const auto is_found = [](const std::atomic<bool>& each) { return each.load(); };
  EXPECT_EQ(std::count_if(found.begin(), found.end(), is_found), kRounds);
}

TEST(RaceMapThreads, AccessesOfTheSameTimeConflict) {
  for (const bool both_write : {false, true}) {
    for (const bool in_entries : {false, true}) {
      SCOPED_TRACE(testing::Message() << both_write << in_entries);
      expect_conflicts(both_write, in_entries);
    }
  }
}

}  // namespace
}  // namespace tandem::emulation
