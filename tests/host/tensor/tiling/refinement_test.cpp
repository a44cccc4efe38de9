// SPDX-License-Identifier: Apache-2.0
//
// One level of refinement: linear functions are kept, means are exact, and nothing else changes.
#include "tensor/tiling/refinement.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <mutex>

#include "host/tensor/tiling/tiling_ranks.h"

namespace tandem::tiling {
namespace {

using DoubleField = Field<double, 3>;

constexpr double kOutside = -7;

std::shared_ptr<const Layout<3>> cut_layout(const Box<3>& domain, const Point<3>& most, int ranks) {
  auto layout = std::make_shared<Layout<3>>();
  layout->domain = domain;
  layout->boxes = cut_to_size(domain, most);
  layout->owners = by_knapsack(layout->boxes, ranks);
  return layout;
}

// Boxes of coarse cells, refined.
std::shared_ptr<const Layout<3>> fine_layout(const Box<3>& part, const Point<3>& most,
                                             std::int64_t ratio, int ranks) {
  auto layout = std::make_shared<Layout<3>>(*cut_layout(part, most, ranks));
  layout->domain = part.refined(ratio);
  for (Box<3>& box : layout->boxes) box = box.refined(ratio);
  return layout;
}

template <typename Make>
void set_cells(DoubleField& field, const Make& make) {
  for (std::size_t local = 0; local < field.num_boxes(); ++local) {
    const auto view = field.view(local);
    refine::for_points(field.box(local).grown(field.ghosts()),
                       [&](const Point<3>& at) { *view.at(at) = make(at); });
  }
}

// Of the centre of a cell; a coarse cell has the extent `width`.
double linear_at(const Point<3>& at, double width) {
  double value = 3;
  for (std::size_t d = 0; d < 3; ++d) {
    value += (1.5 - static_cast<double>(d)) * (static_cast<double>(at[d]) + 0.5) * width;
  }
  return value;
}

double rough_at(const Point<3>& at) {
  return static_cast<double>((at[0] * 31 + at[1] * 17 + at[2] * 5) % 101) / 7;
}

TEST(Refinement, KeepsALinearFunctionAlsoInGhostCells) {
  for (const int ratio : {1, 2, 3}) {
    for (const int ranks : {1, 3}) {
      run_couriers(ranks, 2, [&](Courier& courier, ThreadPool& pool) {
        const auto coarse = cut_layout(box_of<3>({12, 10, 9}), {5, 4, 9}, ranks);
        const Box<3> part{{2, 3, 2}, {8, 7, 7}};
        const auto fine = fine_layout(part, {2, 4, 3}, ratio, ranks);
        DoubleField from(coarse, courier.rank(), 0), to(fine, courier.rank(), 2);
        set_cells(from, [&](const Point<3>& at) { return linear_at(at, ratio); });
        set_cells(to, [](const Point<3>&) { return 1e9; });
        Refinement<double, 3> level(*coarse, *fine, ratio, 2, &courier, pool);
        level.interpolate(from, to, kOutside);
        for (std::size_t local = 0; local < to.num_boxes(); ++local) {
          const auto view = to.view(local);
          refine::for_points(to.box(local).grown(2), [&](const Point<3>& at) {
            ASSERT_NEAR(*view.at(at), linear_at(at, 1), 1e-11) << ratio;
          });
        }
      });
    }
  }
}

TEST(Refinement, TakesCellsOutsideOfTheCoarseDomainAsGiven) {
  ThreadPool pool({1, Pin::kOff});
  const auto coarse = cut_layout(box_of<3>({4, 4, 4}), {4, 4, 4}, 1);
  const auto fine = cut_layout(box_of<3>({8, 8, 8}), {8, 8, 8}, 1);
  DoubleField from(coarse, 0, 0), to(fine, 0, 1);
  set_cells(from, [](const Point<3>&) { return 1.0; });
  Refinement<double, 3>(*coarse, *fine, 2, 1, nullptr, pool).interpolate(from, to, kOutside);
  const auto view = to.view(0);
  EXPECT_EQ(*view.at({0, 4, 4}), 0.75 * 1 + 0.25 * kOutside);
  EXPECT_EQ(*view.at({7, 4, 4}), 0.75 * 1 + 0.25 * kOutside);
  EXPECT_EQ(*view.at({-1, 4, 4}), 0.25 * 1 + 0.75 * kOutside);
  EXPECT_EQ(*view.at({1, 4, 4}), 1);
}

// Four fine cells a side: the third ghost cell lies between coarse cells of the outside alone.
TEST(Refinement, FarGhostCellsLieWhollyOutside) {
  ThreadPool pool({1, Pin::kOff});
  const auto coarse = cut_layout(box_of<3>({2, 2, 2}), {2, 2, 2}, 1);
  const auto fine = cut_layout(box_of<3>({8, 8, 8}), {8, 8, 8}, 1);
  DoubleField from(coarse, 0, 0), to(fine, 0, 3);
  set_cells(from, [](const Point<3>&) { return 1.0; });
  Refinement<double, 3>(*coarse, *fine, 4, 3, nullptr, pool).interpolate(from, to, kOutside);
  const auto view = to.view(0);
  EXPECT_EQ(*view.at({-3, 4, 4}), kOutside);
  EXPECT_EQ(*view.at({10, 4, 4}), kOutside);
  EXPECT_EQ(*view.at({3, 4, 4}), 1);
}

// A weight of 0 reads nothing: a NaN outside of the domain stays there.
TEST(Refinement, ACellsOwnValueIsNotMixedWithItsNeighbours) {
  ThreadPool pool({1, Pin::kOff});
  const auto layout = cut_layout(box_of<3>({3, 2, 2}), {3, 2, 2}, 1);
  DoubleField from(layout, 0, 0), to(layout, 0, 0);
  set_cells(from, rough_at);
  Refinement<double, 3>(*layout, *layout, 1, 0, nullptr, pool)
      .interpolate(from, to, std::numeric_limits<double>::quiet_NaN());
  const auto view = to.view(0);
  refine::for_points(to.box(0), [&](const Point<3>& at) { EXPECT_EQ(*view.at(at), rough_at(at)); });
}

TEST(Refinement, ReadsTheCoarseCellsAroundAndNoMore) {
  const auto fine = fine_layout({{2, 3, 2}, {8, 7, 7}}, {6, 4, 5}, 2, 1);
  const Layout<3> around = refine::coarse_layout(*fine, 2, 2);
  EXPECT_EQ(around.domain, (Box<3>{{2, 3, 2}, {8, 7, 7}}));
  EXPECT_EQ(around.boxes, (BoxArray<3>{{{1, 2, 1}, {9, 8, 8}}}));
}

TEST(Refinement, AMeanOfAnyRatioIsExact) {
  ThreadPool pool({1, Pin::kOff});
  for (const int ratio : {1, 3, 5}) {
    const auto coarse = cut_layout(box_of<3>({2, 2, 2}), {2, 2, 2}, 1);
    const auto fine = fine_layout(box_of<3>({2, 2, 2}), {2, 2, 2}, ratio, 1);
    DoubleField from(fine, 0, 0), to(coarse, 0, 0);
    set_cells(from, [](const Point<3>&) { return 5.0; });
    set_cells(to, [](const Point<3>&) { return kOutside; });
    Refinement<double, 3>(*coarse, *fine, ratio, 0, nullptr, pool).average(from, to);
    refine::for_points(to.box(0), [&](const Point<3>& at) { EXPECT_EQ(*to.view(0).at(at), 5); });
  }
}

TEST(Refinement, AveragesFineCellsAndLeavesTheOthers) {
  const Box<3> part{{2, 3, 2}, {8, 7, 7}};
  for (const int ranks : {1, 2, 3}) {
    run_couriers(ranks, 2, [&](Courier& courier, ThreadPool& pool) {
      const auto coarse = cut_layout(box_of<3>({12, 10, 9}), {5, 4, 9}, ranks);
      const auto fine = fine_layout(part, {2, 4, 3}, 2, ranks);
      DoubleField from(fine, courier.rank(), 1), to(coarse, courier.rank(), 1);
      set_cells(from, rough_at);
      set_cells(to, [](const Point<3>&) { return kOutside; });
      Refinement<double, 3>(*coarse, *fine, 2, 1, &courier, pool).average(from, to);
      for (std::size_t local = 0; local < to.num_boxes(); ++local) {
        const auto view = to.view(local);
        refine::for_points(to.box(local).grown(1), [&](const Point<3>& at) {
          double sum = 0;
          refine::for_points(Box<3>{at, {at[0] + 1, at[1] + 1, at[2] + 1}}.refined(2),
                             [&](const Point<3>& cell) { sum += rough_at(cell); });
          const bool is_covered = part.contains(at) && to.box(local).contains(at);
          ASSERT_EQ(*view.at(at), is_covered ? sum / 8 : kOutside);
        });
      }
    });
  }
}

TEST(Refinement, GivesTheSameBitsForEveryCutAndNumberOfRanks) {
  const Box<3> part{{0, 3, 2}, {8, 7, 7}};
  const auto values_of = [&](int ranks, const Point<3>& most) {
    std::mutex mutex;
    std::map<Point<3>, double> values;
    run_couriers(ranks, 2, [&](Courier& courier, ThreadPool& pool) {
      const auto coarse = cut_layout(box_of<3>({12, 10, 9}), most, ranks);
      const auto fine = fine_layout(part, {most[0], 2, most[2]}, 2, ranks);
      DoubleField from(coarse, courier.rank(), 0), to(fine, courier.rank(), 0);
      set_cells(from, rough_at);
      Refinement<double, 3>(*coarse, *fine, 2, 0, &courier, pool).interpolate(from, to, kOutside);
      const std::lock_guard lock(mutex);
      for (std::size_t local = 0; local < to.num_boxes(); ++local) {
        const auto view = to.view(local);
        refine::for_points(to.box(local), [&](const Point<3>& at) { values[at] = *view.at(at); });
      }
    });
    return values;
  };
  const auto alone = values_of(1, {20, 20, 20});
  EXPECT_EQ(alone.size(), 8u * 4 * 5 * 8);
  EXPECT_EQ(values_of(2, {5, 4, 9}), alone);
  EXPECT_EQ(values_of(3, {2, 10, 1}), alone);
}

TEST(Refinement, RefusesBoxesThatDoNotFit) {
  ThreadPool pool({1, Pin::kOff});
  const auto coarse = cut_layout(box_of<3>({4, 4, 4}), {4, 4, 4}, 1);
  const auto make = [&](const Box<3>& domain) {
    const auto fine = cut_layout(domain, {8, 8, 8}, 1);
    return Refinement<double, 3>(*coarse, *fine, 2, 0, nullptr, pool);
  };
  EXPECT_NO_THROW(make({{2, 2, 2}, {6, 6, 6}}));
  EXPECT_THROW(make({{2, 3, 2}, {6, 6, 6}}), Error);
  EXPECT_THROW(make({{2, 2, 2}, {6, 7, 6}}), Error);
  EXPECT_THROW(make({{2, 2, 2}, {6, 10, 6}}), Error);
  const auto fine = cut_layout(box_of<3>({8, 8, 8}), {8, 8, 8}, 1);
  EXPECT_THROW((Refinement<double, 3>(*coarse, *fine, 0, 0, nullptr, pool)), Error);
}

TEST(RefinementDeathTest, RefusesMoreGhostCellsThanItWasMadeFor) {
  ThreadPool pool({1, Pin::kOff});
  const auto coarse = cut_layout(box_of<3>({4, 4, 4}), {4, 4, 4}, 1);
  const auto fine = cut_layout(box_of<3>({8, 8, 8}), {8, 8, 8}, 1);
  DoubleField from(coarse, 0, 0), to(fine, 0, 2);
  Refinement<double, 3> level(*coarse, *fine, 2, 1, nullptr, pool);
  EXPECT_DEATH(level.interpolate(from, to, 0.0), "ghosts");
}

}  // namespace
}  // namespace tandem::tiling
