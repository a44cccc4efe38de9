// SPDX-License-Identifier: Apache-2.0
//
// The allocator of device memory against a map of pages.
#include "emulation/protocol/range_allocator.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tandem::emulation {
namespace {

TEST(RangeAllocator, RandomOperationsNeverOverlapAndAllMemoryComesBack) {
  constexpr uint64_t kPages = 256;
  const uint64_t base = 16 * kAllocationGranule;
  RangeAllocator allocator(base, kPages * kAllocationGranule);
  std::vector<bool> used(kPages, false);
  struct Piece {
    uint64_t first, count;
  };
  std::vector<Piece> pieces;
  std::mt19937 random(7);
  for (int step = 0; step < 20000; ++step) {
    if (random() % 2 == 0 || pieces.empty()) {
      const uint64_t bytes = 1 + random() % (12 * kAllocationGranule);
      const auto address = allocator.allocate(bytes);
      if (!address) continue;
      const uint64_t first = (*address - base) / kAllocationGranule;
      const uint64_t count = (bytes + kAllocationGranule - 1) / kAllocationGranule;
      ASSERT_LE(first + count, kPages);
      for (uint64_t page = first; page < first + count; ++page) {
        ASSERT_FALSE(used[page]);
        used[page] = true;
      }
      pieces.push_back({first, count});
    } else {
      const size_t index = random() % pieces.size();
      const Piece piece = pieces[index];
      pieces.erase(pieces.begin() + static_cast<long>(index));
      allocator.release(base + piece.first * kAllocationGranule, piece.count * kAllocationGranule);
      for (uint64_t page = piece.first; page < piece.first + piece.count; ++page)
        used[page] = false;
    }
  }
  for (const Piece& piece : pieces) {
    allocator.release(base + piece.first * kAllocationGranule, piece.count * kAllocationGranule);
  }
  EXPECT_EQ(allocator.free_bytes(), kPages * kAllocationGranule);
  EXPECT_EQ(allocator.allocate(kPages * kAllocationGranule), base);
}

TEST(RangeAllocator, StaysInsideTheAskedInterval) {
  RangeAllocator allocator(0, 64 * kAllocationGranule);
  const uint64_t low = 8 * kAllocationGranule, high = 12 * kAllocationGranule;
  for (uint64_t page = 8; page < 12; ++page) {
    EXPECT_EQ(allocator.allocate(1, low, high), page * kAllocationGranule);
  }
  EXPECT_EQ(allocator.allocate(1, low, high), std::nullopt);
}

TEST(RangeAllocator, TellsTheLargestFreePieceOfAnInterval) {
  RangeAllocator allocator(0, 16 * kAllocationGranule);
  EXPECT_EQ(allocator.allocate(1, 4 * kAllocationGranule, 16 * kAllocationGranule),
            4 * kAllocationGranule);
  EXPECT_EQ(allocator.largest_free(0, 16 * kAllocationGranule), 11 * kAllocationGranule);
  EXPECT_EQ(allocator.largest_free(0, 5 * kAllocationGranule), 4 * kAllocationGranule);
  EXPECT_EQ(allocator.largest_free(2 * kAllocationGranule, 7 * kAllocationGranule),
            2 * kAllocationGranule);
  EXPECT_EQ(allocator.largest_free(4 * kAllocationGranule, 5 * kAllocationGranule), 0u);
  EXPECT_EQ(allocator.free_bytes(), 15 * kAllocationGranule);
}

TEST(RangeAllocator, RefusesSizesThatOverflow) {
  RangeAllocator allocator(0, 64 * kAllocationGranule);
  EXPECT_EQ(allocator.allocate(~uint64_t{0}), std::nullopt);
  EXPECT_EQ(allocator.allocate(0), std::nullopt);
}

}  // namespace
}  // namespace tandem::emulation
