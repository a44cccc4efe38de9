// SPDX-License-Identifier: Apache-2.0
//
// Space-filling orders by their properties, over every cell of small tensors.
#include "tensor/sparse/formats/curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "../random_tensor.h"
#include "common/error.h"
#include "tensor/sparse/formats/entry_order.h"

namespace tandem::sparse {
namespace {

using test::Index;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr CurveKind kBoth[] = {CurveKind::kMorton, CurveKind::kHilbert};

std::vector<Index> cells_of(const Index& sizes) {
  std::vector<Index> cells{{}};
  for (const std::uint64_t size : sizes) {
    std::vector<Index> longer;
    for (const Index& cell : cells) {
      for (std::uint64_t i = 0; i < size; ++i) {
        longer.push_back(cell);
        longer.back().push_back(i);
      }
    }
    cells = std::move(longer);
  }
  return cells;
}

TEST(Curve, GivesEveryCellAKeyOfItsOwnThatLeadsBack) {
  const std::vector<Index> shapes{{1},          {9},          {8, 8},         {5, 1, 8, 3},
                                  {2, 64},      {64, 2},      {3, 17, 4},     {1, 1},
                                  {7, 2, 2, 5}, Index(10, 2), {16, 1, 1, 33}, {4, 4, 4}};
  for (const CurveKind kind : kBoth) {
    for (const Index& sizes : shapes) {
      const Curve curve(kind, sizes);
      std::set<std::uint64_t> keys;
      for (const Index& cell : cells_of(sizes)) {
        const std::uint64_t key = curve.key_of(cell);
        EXPECT_EQ(key >> curve.bits(), 0u);
        EXPECT_TRUE(keys.insert(key).second);
        Index back(sizes.size(), 77);
        curve.index_of(key, back);
        EXPECT_EQ(back, cell);
      }
    }
  }
}

TEST(Curve, HilbertNeighboursAreNeighboursInACube) {
  const std::vector<Index> cubes{{16}, {8, 8}, {32, 32}, {8, 8, 8}, {4, 4, 4, 4}, {2, 2, 2, 2, 2}};
  for (const Index& sizes : cubes) {
    const Curve curve(CurveKind::kHilbert, sizes);
    Index before(sizes.size()), cell(sizes.size());
    curve.index_of(0, before);
    EXPECT_EQ(before, Index(sizes.size(), 0)) << "the curve begins at the origin";
    for (std::uint64_t key = 1; key >> curve.bits() == 0; ++key) {
      curve.index_of(key, cell);
      std::uint64_t distance = 0;
      for (std::size_t mode = 0; mode < sizes.size(); ++mode) {
        distance +=
            cell[mode] > before[mode] ? cell[mode] - before[mode] : before[mode] - cell[mode];
      }
      ASSERT_EQ(distance, 1u) << "order " << sizes.size() << ", key " << key;
      before = cell;
    }
  }
}

TEST(Curve, HilbertInABoxHasTheOrderOfTheCubeAroundIt) {
  const std::vector<Index> shapes{{5, 16}, {16, 5}, {8, 1, 3}, {3, 8, 2}, {2, 2, 8, 4}};
  for (const Index& sizes : shapes) {
    const std::uint64_t longest = *std::max_element(sizes.begin(), sizes.end());
    const Curve box(CurveKind::kHilbert, sizes);
    const Curve cube(CurveKind::kHilbert, Index(sizes.size(), longest));
    std::map<std::uint64_t, std::uint64_t> in_cube;  // by the key in the box
    for (const Index& cell : cells_of(sizes)) in_cube[box.key_of(cell)] = cube.key_of(cell);
    std::uint64_t before = 0;
    for (const auto& [key, cube_key] : in_cube) {
      EXPECT_LE(before, cube_key);
      before = cube_key;
    }
  }
}

TEST(Curve, MortonTakesTheBitsOfTheModesInTurnFromTheHighest) {
  const Curve curve(CurveKind::kMorton, Index{8, 2, 4});
  EXPECT_EQ(curve.bits(), 6);
  // Levels: 2: mode 0; 1: modes 0 and 2; 0: all.
  EXPECT_EQ(curve.key_of(Index{0b101, 0b1, 0b10}), 0b101110u);
}

TEST(Curve, TakesModesOf32Bits) {
  const Index sizes{std::uint64_t{1} << 32, std::uint64_t{1} << 32};
  const Index index{0xdeadbeef, 0x12345678};
  for (const CurveKind kind : kBoth) {
    const Curve curve(kind, sizes);
    EXPECT_EQ(curve.bits(), 64);
    Index back(2);
    curve.index_of(curve.key_of(index), back);
    EXPECT_EQ(back, index);
  }
  const Curve line(CurveKind::kHilbert, Index{~std::uint64_t{0}});
  EXPECT_EQ(line.key_of(Index{0xfedcba9876543210}), 0xfedcba9876543210u);
}

TEST(Curve, RefusesMoreThan64Bits) {
  EXPECT_THAT(
      [] {
        Curve(CurveKind::kMorton, Index{std::uint64_t{1} << 33, std::uint64_t{1} << 32});
      },
      ThrowsMessage<Error>(HasSubstr("these modes need 65")));
}

TEST(LinearTensor, LeadsBackToTheSameEntriesForEveryNumberOfThreads) {
  const std::vector<Index> shapes{{20}, {6, 9}, {30, 1, 5, 2}, Index(12, 3), {1u << 31, 1u << 30}};
  for (const CurveKind kind : kBoth) {
    for (const Index& sizes : shapes) {
      const CooTensor tensor = test::random_tensor(sizes, 200, 11);
      for (const int threads : {1, 3}) {
        ThreadPool pool(threads);
        const LinearTensor linear = to_linear(tensor, kind, pool);
        EXPECT_EQ(linear.size_bytes(), linear.keys.size() * 16);
        EXPECT_EQ(
            std::adjacent_find(linear.keys.begin(), linear.keys.end(), std::greater_equal<>()),
            linear.keys.end());
        const CooTensor back = to_coo(linear, pool);
        EXPECT_EQ(back.sizes, sizes);
        EXPECT_EQ(back.num_entries(), linear.keys.size());
        EXPECT_EQ(test::entries_of(back), test::entries_of(tensor));
      }
    }
  }
}

}  // namespace
}  // namespace tandem::sparse
