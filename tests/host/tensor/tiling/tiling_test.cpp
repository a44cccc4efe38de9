// SPDX-License-Identifier: Apache-2.0
//
// Boxes, tiles and regions against counting every point.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>

#include "common/error.h"
#include "tensor/tiling/box.h"
#include "tensor/tiling/regions.h"
#include "tensor/tiling/tile_iterator.h"

namespace tandem::tiling {
namespace {

using Box3 = Box<3>;
using Point3 = Point<3>;

class Random {
 public:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  Box3 box() {
    Box3 box;
    for (std::size_t d = 0; d < 3; ++d) {
      box.lower[d] = between(-4, 4);
      box.upper[d] = box.lower[d] + between(-1, 7);
    }
    return box;
  }
  Point3 tile() { return {between(1, 9), between(1, 4), between(1, 3)}; }

 private:
  std::mt19937 engine_{11};
};

template <typename Visit>
void for_points(const Box3& box, const Visit& visit) {
  for (std::int64_t i = box.lower[0]; i < box.upper[0]; ++i) {
    for (std::int64_t j = box.lower[1]; j < box.upper[1]; ++j) {
      for (std::int64_t k = box.lower[2]; k < box.upper[2]; ++k) visit(Point3{i, j, k});
    }
  }
}

std::int64_t count(const Box3& box) {
  std::int64_t points = 0;
  for_points(box, [&](const Point3&) { ++points; });
  return points;
}

bool is_inside(const Box3& inner, const Box3& outer) {
  for (std::size_t d = 0; d < 3; ++d) {
    if (inner.lower[d] < outer.lower[d] || inner.upper[d] > outer.upper[d]) return false;
  }
  return true;
}

TEST(Box, CountsThePointsBetweenItsCorners) {
  Random random;
  for (int round = 0; round < 100; ++round) {
    const Box3 box = random.box();
    EXPECT_EQ(box.size(), count(box));
    EXPECT_EQ(box.empty(), count(box) == 0);
  }
  EXPECT_EQ(box_of<2>({3, 5}), (Box<2>{{0, 0}, {3, 5}}));
}

TEST(Box, MovesGrowsAndMeetsOthersPointByPoint) {
  Random random;
  for (int round = 0; round < 100; ++round) {
    const Box3 a = random.box(), b = random.box();
    const Box3 grown = a.grown(1), shifted = a.shifted({2, -3, 1}), both = a.intersection(b);
    for_points(box_of<3>({20, 20, 20}).shifted({-8, -8, -8}), [&](const Point3& p) {
      EXPECT_EQ(both.contains(p), a.contains(p) && b.contains(p));
      EXPECT_EQ(shifted.contains(p), a.contains(Point3{p[0] - 2, p[1] + 3, p[2] - 1}));
      if (a.contains(p)) {
        EXPECT_TRUE(grown.contains(Point3{p[0] + 1, p[1] - 1, p[2] + 1}));
      }
    });
    EXPECT_EQ(a.contains(b), b.empty() || is_inside(b, a));
    if (!a.empty()) {
      EXPECT_EQ(grown.grown(-1), a);
    }
  }
}

TEST(Box, CoarseCellsCoverTheFineOnes) {
  Random random;
  for (int round = 0; round < 100; ++round) {
    const Box3 fine = random.box();
    for (const std::int64_t ratio : {1, 2, 3}) {
      const Box3 coarse = fine.coarsened(ratio);
      EXPECT_TRUE(is_inside(fine, coarse.refined(ratio)));
      // No coarse cell too many: each face's cell has a fine one of the box.
      for (std::size_t d = 0; d < 3; ++d) {
        if (fine.extent(d) == 0) continue;
        EXPECT_GT((coarse.lower[d] + 1) * ratio, fine.lower[d]);
        EXPECT_LT((coarse.upper[d] - 1) * ratio, fine.upper[d]);
      }
    }
  }
}

TEST(Tiles, AreBalancedWhereAskedFor) {
  Random random;
  for (int round = 0; round < 200; ++round) {
    const Box3 domain = random.box();
    const Point3 extents = random.tile();
    const Tiles<3> tiles(domain, extents, Cut::kBalanced);
    std::map<Point3, int> visits;
    for (const Box3& tile : tiles) {
      for (std::size_t d = 0; d < 3; ++d) {
        const std::int64_t count = std::max<std::int64_t>(1, domain.extent(d) / extents[d]);
        EXPECT_GE(tile.extent(d), domain.extent(d) / count);
        EXPECT_LE(tile.extent(d), (domain.extent(d) + count - 1) / count);
      }
      for_points(tile, [&](const Point3& point) { visits[point] += 1; });
    }
    EXPECT_EQ(static_cast<std::int64_t>(visits.size()), domain.size());
    for (const auto& [point, times] : visits) EXPECT_EQ(times, 1);
  }
}

TEST(Tiles, ThatAreLongerComeFirst) {
  const Tiles<1> tiles(box_of<1>({11}), {3}, Cut::kBalanced);
  const std::vector<Box<1>> all(tiles.begin(), tiles.end());
  EXPECT_EQ(all, (std::vector<Box<1>>{{{0}, {4}}, {{4}, {8}}, {{8}, {11}}}));
}

TEST(Tiles, ShareNoNodeAndGrowAtTheFacesOfTheirBoxAlone) {
  Random random;
  for (int round = 0; round < 100; ++round) {
    const Box3 whole = random.box();
    if (whole.empty()) continue;
    std::map<Point3, int> nodes, grown;
    for (const Box3& tile : Tiles<3>(whole, random.tile(), Cut::kBalanced)) {
      for_points(nodes_of_tile(tile, whole, 1), [&](const Point3& p) { nodes[p] += 1; });
      for_points(grown_tile(tile, whole, 2), [&](const Point3& p) { grown[p] += 1; });
    }
    EXPECT_EQ(static_cast<std::int64_t>(nodes.size()), nodes_of(whole, 1).size());
    EXPECT_EQ(static_cast<std::int64_t>(grown.size()), whole.grown(2).size());
    for (const auto& [point, times] : nodes) EXPECT_EQ(times, 1);
    for (const auto& [point, times] : grown) EXPECT_EQ(times, 1);
  }
}

TEST(Tiles, CoverEveryPointOnceInOrder) {
  Random random;
  for (int round = 0; round < 200; ++round) {
    const Box3 domain = random.box();
    const Point3 extents = random.tile();
    const Tiles<3> tiles(domain, extents);
    std::map<Point3, int> visits;
    std::int64_t index = 0;
    Point3 last{};
    for (const Box3& tile : tiles) {
      EXPECT_EQ(tile, tiles.tile(index));
      EXPECT_FALSE(tile.empty());
      EXPECT_TRUE(is_inside(tile, domain));
      if (index > 0) {
        EXPECT_LT(last, tile.lower);  // lexicographic: the last dimension is fastest
      }
      last = tile.lower;
      for (std::size_t d = 0; d < 3; ++d) {
        EXPECT_TRUE(tile.extent(d) == extents[d] || tile.upper[d] == domain.upper[d]);
      }
      for_points(tile, [&](const Point3& point) { visits[point] += 1; });
      ++index;
    }
    EXPECT_EQ(index, tiles.num_tiles());
    EXPECT_EQ(static_cast<std::int64_t>(visits.size()), domain.size());
    for (const auto& [point, times] : visits) EXPECT_EQ(times, 1);
  }
}

TEST(Tiles, NeedAPositiveExtent) {
  EXPECT_THROW(Tiles<1>(box_of<1>({4}), {0}), Error);
  EXPECT_THROW(Tiles<2>(box_of<2>({4, 4}), {1, -1}), Error);
}

TEST(Regions, CoverEveryTileAndEveryPointOnce) {
  Random random;
  for (int round = 0; round < 300; ++round) {
    const Box3 domain = random.box();
    const Point3 extents = random.tile();
    const std::size_t cut = static_cast<std::size_t>(random.between(0, 2));
    std::vector<int> weights(static_cast<std::size_t>(random.between(1, 5)));
    for (int& weight : weights) weight = static_cast<int>(random.between(0, 4));
    weights[0] += 1;
    const Regions<3> regions(domain, extents, weights, cut);

    ASSERT_EQ(regions.num_regions(), weights.size());
    EXPECT_EQ(regions.bounds().size(), weights.size() + 1);
    EXPECT_EQ(regions.num_tiles(), static_cast<std::size_t>(Tiles<3>(domain, extents).num_tiles()));
    std::map<Point3, int> visits;
    for (std::size_t tile = 0; tile < regions.num_tiles(); ++tile) {
      const std::size_t r = regions.region_of(tile);
      EXPECT_GE(tile, regions.bounds()[r]);
      EXPECT_LT(tile, regions.bounds()[r + 1]);
      EXPECT_TRUE(is_inside(regions.tile(tile), regions.region(r)));
      for_points(regions.tile(tile), [&](const Point3& point) { visits[point] += 1; });
    }
    EXPECT_EQ(static_cast<std::int64_t>(visits.size()), domain.size());
    for (const auto& [point, times] : visits) EXPECT_EQ(times, 1);

    std::int64_t points = 0;
    for (std::size_t r = 0; r < weights.size(); ++r) points += regions.region(r).size();
    EXPECT_EQ(points, domain.size());
  }
}

TEST(Regions, AreInProportionToTheirWeights) {
  Random random;
  for (int round = 0; round < 200; ++round) {
    const std::int64_t slabs = random.between(0, 100);
    std::vector<int> weights(static_cast<std::size_t>(random.between(1, 6)));
    for (int& weight : weights) weight = static_cast<int>(random.between(0, 8));
    weights.back() += 1;
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    const Regions<2> regions(box_of<2>({slabs * 3, 10}), {3, 10}, weights);
    for (std::size_t r = 0; r < weights.size(); ++r) {
      const double share = static_cast<double>(slabs) * weights[r] / total;
      const auto tiles = static_cast<double>(regions.bounds()[r + 1] - regions.bounds()[r]);
      EXPECT_LE(std::abs(tiles - share), 1) << slabs << " slabs, weight " << weights[r];
      if (weights[r] == 0) {
        EXPECT_EQ(tiles, 0);
      }
    }
  }
}

TEST(Regions, EndAtTheNearestTile) {
  const Regions<1> regions(box_of<1>({8}), {4}, std::vector<int>{1, 2});
  EXPECT_EQ(regions.region(0), (Box<1>{{0}, {4}}));  // two thirds of a tile are one
  EXPECT_EQ(regions.region(1), (Box<1>{{4}, {8}}));
}

TEST(Regions, RefuseWeightsThatDivideNothing) {
  const Box<1> domain = box_of<1>({8});
  EXPECT_THROW(Regions<1>(domain, {1}, std::vector<int>{}), Error);
  EXPECT_THROW(Regions<1>(domain, {1}, std::vector<int>{0, 0}), Error);
  EXPECT_THROW(Regions<1>(domain, {1}, std::vector<int>{3, -1}), Error);
  EXPECT_THROW(Regions<1>(domain, {0}, std::vector<int>{1}), Error);
  EXPECT_THROW(Regions<1>(domain, {1}, std::vector<int>{1}, 1), Error);
}

}  // namespace
}  // namespace tandem::tiling
