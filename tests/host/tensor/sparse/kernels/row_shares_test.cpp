// SPDX-License-Identifier: Apache-2.0
//
// Shares of rows against every possible division of small matrices.
#include "tensor/sparse/kernels/row_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tandem::sparse {
namespace {

using Bounds = std::vector<std::uint64_t>;

Bounds begins_of(const std::vector<std::uint64_t>& entries) {
  Bounds begins = {100};  // as of a slice
  for (const std::uint64_t count : entries) begins.push_back(begins.back() + count);
  return begins;
}

// The least of the longest times over all divisions.
double best_of_all(const Bounds& begins, const std::vector<RowSpeed>& devices,
                   Bounds bounds = {0}) {
  const std::uint64_t rows = begins.size() - 1;
  if (bounds.size() == devices.size()) {
    bounds.push_back(rows);
    return longest_share(begins, devices, bounds);
  }
  double best = 1e300;
  for (std::uint64_t end = bounds.back(); end <= rows; ++end) {
    Bounds more = bounds;
    more.push_back(end);
    best = std::min(best, best_of_all(begins, devices, more));
  }
  return best;
}

TEST(RowShares, TakeTheLeastTimeOfAllDivisions) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> entries(random() % 12);
    for (std::uint64_t& count : entries) count = random() % 9;
    std::vector<RowSpeed> devices(1 + random() % 3);
    for (RowSpeed& speed : devices) {
      speed = {static_cast<double>(random() % 20), static_cast<double>(1 + random() % 4),
               static_cast<double>(1 + random() % 5)};
    }
    const Bounds begins = begins_of(entries);
    const Bounds bounds = share_rows(begins, devices);
    ASSERT_EQ(bounds.size(), devices.size() + 1);
    EXPECT_EQ(bounds.front(), 0u);
    EXPECT_EQ(bounds.back(), entries.size());
    EXPECT_TRUE(std::ranges::is_sorted(bounds));
    EXPECT_NEAR(longest_share(begins, devices, bounds), best_of_all(begins, devices), 1e-6);
  }
}

TEST(RowShares, ADeviceOfTwiceTheSpeedGetsTwiceTheWork) {
  const Bounds begins = begins_of(std::vector<std::uint64_t>(900, 4));
  EXPECT_EQ(share_rows(begins, std::vector<RowSpeed>{{0, 0, 2}, {0, 0, 1}}), (Bounds{0, 300, 900}));
}

TEST(RowShares, ADeviceWhoseFixedTimeIsTooLongGetsNoRow) {
  const Bounds begins = begins_of(std::vector<std::uint64_t>(10, 1));
  const std::vector<RowSpeed> devices = {{0, 0, 1}, {10.5, 0, 0.001}};
  EXPECT_EQ(share_rows(begins, devices), (Bounds{0, 10, 10}));
  EXPECT_EQ(longest_share(begins, devices, Bounds{0, 10, 10}), 10) << "nothing without rows";
  const Bounds more = begins_of(std::vector<std::uint64_t>(100, 1));
  const Bounds bounds = share_rows(more, devices);
  EXPECT_GT(bounds[2] - bounds[1], 85u);
}

TEST(RowShares, NoDeviceGetsMoreThanItHasRoomFor) {
  const Bounds begins = begins_of(std::vector<std::uint64_t>(100, 3));  // 4 for a row
  const RowSpeed whole{0, 0, 1}, small{0, 0, 1, 43};
  EXPECT_EQ(share_rows(begins, std::vector{whole, small, whole}), (Bounds{0, 45, 55, 100}));
  EXPECT_EQ(share_rows(begins, std::vector{small, whole}), (Bounds{0, 10, 100}));
  EXPECT_EQ(share_rows(begins, std::vector{whole, RowSpeed{0, 0, 1, 0}}), (Bounds{0, 100, 100}));
  const RowSpeed half{0, 0, 1, 200}, slow{0, 0, 9, 200};
  EXPECT_EQ(share_rows(begins, std::vector{half, slow}), (Bounds{0, 50, 100})) << "just enough";
  EXPECT_EQ(share_rows(begins, std::vector{half, small}), (Bounds{0, 50, 60})) << "40 are left";
}

TEST(RowShares, ManyRowsWithoutEntriesCostTheirRows) {
  std::vector<std::uint64_t> entries(1000, 0);
  entries[0] = 1000;
  const Bounds bounds = share_rows(begins_of(entries), std::vector<RowSpeed>{{0, 1, 1}, {0, 1, 1}});
  EXPECT_EQ(bounds[1], 1u) << "the first row takes 1001 of 2000";
}

}  // namespace
}  // namespace tandem::sparse
