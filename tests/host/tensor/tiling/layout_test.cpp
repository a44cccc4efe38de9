// SPDX-License-Identifier: Apache-2.0
//
// Cuts of a domain and their owners against counting every point.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "common/error.h"
#include "tensor/tiling/field.h"
#include "tensor/tiling/layout.h"

namespace tandem::tiling {
namespace {

void expect_each_point_once(const Box<3>& domain, const BoxArray<3>& boxes) {
  std::map<Point<3>, int> visits;
  std::int64_t points = 0;
  for (const Box<3>& box : boxes) {
    EXPECT_FALSE(box.empty());
    EXPECT_TRUE(domain.contains(box));
    points += box.size();
    for_rows(box, [&](const Point<3>& row) {
      for (Point<3> at = row; at[2] < box.upper[2]; ++at[2]) visits[at] += 1;
    });
  }
  EXPECT_EQ(points, domain.size());
  EXPECT_EQ(static_cast<std::int64_t>(visits.size()), domain.size());
}

TEST(Layout, CutsCoverTheDomainOnce) {
  const Box<3> domain{{-2, 3, 1}, {9, 10, 14}};
  for (const std::int64_t count : {1, 2, 3, 4, 6, 7, 8, 11, 12, 64}) {
    const BoxArray<3> boxes = cut_in(domain, count);
    EXPECT_EQ(static_cast<std::int64_t>(boxes.size()), count);
    expect_each_point_once(domain, boxes);
  }
  for (const Point<3> most : {Point<3>{4, 4, 4}, Point<3>{1, 7, 5}, Point<3>{100, 100, 100}}) {
    const BoxArray<3> boxes = cut_to_size(domain, most);
    expect_each_point_once(domain, boxes);
    for (const Box<3>& box : boxes) {
      for (std::size_t d = 0; d < 3; ++d) EXPECT_LE(box.extent(d), most[d]);
    }
  }
}

TEST(Layout, CutsTheLongestDimensionFirstAndOfEqualOnesTheOutermost) {
  EXPECT_EQ(cut_in(box_of<3>({8, 8, 8}), 2)[0], (box_of<3>({4, 8, 8})));
  EXPECT_EQ(cut_in(box_of<3>({8, 8, 8}), 4)[0], (box_of<3>({4, 4, 8})));
  EXPECT_EQ(cut_in(box_of<3>({4, 4, 32}), 4)[0], (box_of<3>({4, 4, 8})));
  EXPECT_EQ(cut_in(box_of<3>({12, 12, 12}), 6)[0], (box_of<3>({4, 6, 12})));  // 3, then 2
}

TEST(Layout, CutsDownToSingleCellsAndEvenly) {
  expect_each_point_once(box_of<3>({2, 2, 2}), cut_in(box_of<3>({2, 2, 2}), 8));
  EXPECT_EQ(cut_to_size(box_of<1>({9}), {6}), (BoxArray<1>{{{0}, {5}}, {{5}, {9}}}));
  EXPECT_TRUE(cut_to_size(box_of<2>({0, 4}), {2, 2}).empty());
}

TEST(Layout, RefusesMoreBoxesThanCells) {
  EXPECT_THROW(cut_in(box_of<3>({2, 2, 2}), 7), Error);
  EXPECT_THROW(cut_to_size(box_of<2>({2, 2}), {0, 1}), Error);
}

TEST(Layout, CurvesKeepNeighboursTogetherAndKnapsacksBalance) {
  const Box<2> domain = box_of<2>({8, 8});
  const BoxArray<2> boxes = cut_to_size(domain, {1, 1});
  const std::vector<int> owners = by_curve(domain, boxes, 4);
  for (std::size_t box = 0; box < boxes.size(); ++box) {  // quadrants
    const Point<2>& at = boxes[box].lower;
    EXPECT_EQ(owners[box], (at[0] / 4) * 2 + at[1] / 4);
  }
  BoxArray<2> moved = boxes;
  for (Box<2>& box : moved) box = box.shifted({-3, 5});
  EXPECT_EQ(by_curve(domain.shifted({-3, 5}), moved, 4), owners) << "wherever the domain begins";
  const BoxArray<1> with_none{{{0}, {8}}, {{8}, {8}}};
  EXPECT_EQ(by_curve(box_of<1>({8}), with_none, 2), (std::vector<int>{1, 1}));
  const BoxArray<1> late{{{0}, {1}}, {{1}, {2}}, {{2}, {8}}};
  EXPECT_EQ(by_curve(box_of<1>({8}), late, 2), (std::vector<int>{0, 0, 1}));
  const BoxArray<1> uneven{{{0}, {8}}, {{8}, {13}}, {{13}, {17}}, {{17}, {20}}};
  std::vector<std::int64_t> loads(2);
  const std::vector<int> packed = by_knapsack(uneven, 2);
  for (std::size_t box = 0; box < uneven.size(); ++box) {
    loads[static_cast<std::size_t>(packed[box])] += uneven[box].size();
  }
  EXPECT_EQ(*std::max_element(loads.begin(), loads.end()), 11);  // 8 + 3, 5 + 4
  for (const int ranks : {1, 3, 5}) {
    std::vector<int> counts(static_cast<std::size_t>(ranks));
    for (const int owner : by_curve(domain, boxes, ranks))
      ++counts[static_cast<std::size_t>(owner)];
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    EXPECT_LE(*most - *least, 1);
  }
}

}  // namespace
}  // namespace tandem::tiling
