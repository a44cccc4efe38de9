// SPDX-License-Identifier: Apache-2.0
//
// Ghost cells and copies between layouts: every value says which point it belongs to.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <set>

#include "common/error.h"
#include "host/tensor/tiling/tiling_ranks.h"
#include "tensor/tiling/copy_run.h"
#include "tensor/tiling/rank_reduction.h"
#include "tensor/tiling/tile_schedule.h"

namespace tandem::tiling {
namespace {

using Layout3 = Layout<3>;

constexpr std::int64_t kNothing = -1;

std::shared_ptr<const Layout3> layout_of(const Box<3>& domain, const Point<3>& most, int ranks,
                                         std::array<bool, 3> periodic) {
  auto layout = std::make_shared<Layout3>();
  layout->domain = domain;
  layout->boxes = cut_to_size(domain, most);
  layout->owners = by_knapsack(layout->boxes, ranks);
  layout->periodic = periodic;
  return layout;
}

std::int64_t number_at(const Point<3>& at) { return (at[0] * 1000 + at[1]) * 1000 + at[2]; }

template <typename Visit>
void for_cells_of(const Box<3>& box, const Visit& visit) {
  for_rows(box, [&](const Point<3>& row) {
    for (Point<3> at = row; at[2] < box.upper[2]; ++at[2]) visit(at);
  });
}

// Cells of the field's boxes have their numbers, ghost cells nothing.
void number(Field<std::int64_t, 3>& field) {
  for (std::size_t local = 0; local < field.num_boxes(); ++local) {
    const auto view = field.view(local);
    for_cells_of(field.box(local).grown(field.ghosts()), [&](const Point<3>& at) {
      *view.at(at) = field.box(local).contains(at) ? number_at(at) : kNothing;
    });
  }
}

// What a ghost fill leaves at a point.
std::int64_t expected_at(const Layout3& layout, Point<3> at) {
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t extent = layout.domain.extent(d);
    if (!layout.periodic[d]) continue;
    if (at[d] < layout.domain.lower[d]) at[d] += extent;
    if (at[d] >= layout.domain.upper[d]) at[d] -= extent;
  }
  return layout.domain.contains(at) ? number_at(at) : kNothing;
}

TEST(GhostCells, HaveTheValuesOfTheBoxesThatOwnThem) {
  const Box<3> domain{{1, 0, 2}, {9, 6, 9}};
  for (const int ranks : {1, 2, 3}) {
    for (const auto periodic : {std::array{false, false, false}, std::array{true, false, true},
                                std::array{true, true, true}}) {
      for (const std::int64_t ghosts : {1, 2, 5}) {
        const auto layout = layout_of(domain, {3, 4, 7}, ranks, periodic);
        run_couriers(ranks, 2, [&](Courier& courier, ThreadPool& pool) {
          Field<std::int64_t, 3> field(layout, courier.rank(), ghosts);
          number(field);
          const auto plan = ghost_plan(*layout, ghosts, courier.rank());
          FieldCopy<std::int64_t, 3>(field, field, plan, &courier, pool).finish();
          for (std::size_t local = 0; local < field.num_boxes(); ++local) {
            const auto view = field.view(local);
            for_cells_of(field.box(local).grown(ghosts), [&](const Point<3>& at) {
              ASSERT_EQ(*view.at(at), expected_at(*layout, at));
            });
          }
        });
      }
    }
  }
}

TEST(GhostCells, MustNotReachAroundAPeriodicDomain) {
  const auto layout = layout_of(box_of<3>({4, 9, 9}), {4, 9, 9}, 1, {true, false, false});
  EXPECT_NO_THROW(ghost_plan(*layout, 4, 0));
  EXPECT_THROW(ghost_plan(*layout, 5, 0), Error);
}

TEST(FieldCopy, GoesFromAnyLayoutToAnyOther) {
  const Box<3> domain = box_of<3>({7, 8, 9});
  const auto source = layout_of(domain, {3, 8, 4}, 3, {}),
             target = layout_of(domain, {7, 3, 3}, 3, {});
  run_couriers(3, 1, [&](Courier& courier, ThreadPool& pool) {
    Field<std::int64_t, 3> from(source, courier.rank(), 1), to(target, courier.rank(), 2);
    number(from);
    const auto plan = copy_plan(*source, *target, courier.rank());
    FieldCopy<std::int64_t, 3>(from, to, plan, &courier, pool).finish();
    for (std::size_t local = 0; local < to.num_boxes(); ++local) {
      for_cells_of(to.box(local),
                   [&](const Point<3>& at) { ASSERT_EQ(*to.view(local).at(at), number_at(at)); });
    }
  });
}

TEST(Field, RowsBeginAtCacheLines) {
  const auto layout = layout_of(box_of<3>({3, 4, 506}), {3, 4, 506}, 1, {});
  Field<double, 3> field(layout, 0, 3);
  const auto view = field.view(0);
  for_rows(field.box(0), [&](const Point<3>& row) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.at(row)) % 64, 0u);
  });
  EXPECT_NE(view.strides[1] * 8 % 4096, 0);
  EXPECT_EQ(view.strides[0] * 8 % 4096, 5 * 64);
  EXPECT_GE(view.strides[0], 10 * view.strides[1]);
}

TEST(Field, RowsDoNotFollowOneAnotherAtPages) {
  // 8 values before the first cell, 501 cells and 3 ghost cells are 512 values: 4096 bytes.
  const auto layout = layout_of(box_of<3>({3, 4, 501}), {3, 4, 501}, 1, {});
  Field<double, 3> field(layout, 0, 3);
  EXPECT_EQ(field.view(0).strides[1], 512 + 8);
}

TEST(Field, ASwapExchangesAllValues) {
  const auto layout = layout_of(box_of<3>({2, 2, 2}), {1, 2, 2}, 1, {});
  Field<std::int64_t, 3> a(layout, 0, 0), b(layout, 0, 0);
  number(a);
  for (std::size_t local = 0; local < b.num_boxes(); ++local) {
    for_cells_of(b.box(local), [&](const Point<3>& at) { *b.view(local).at(at) = kNothing; });
  }
  a.swap(b);
  for (std::size_t local = 0; local < a.num_boxes(); ++local) {
    for_cells_of(a.box(local), [&](const Point<3>& at) {
      EXPECT_EQ(*a.view(local).at(at), kNothing);
      EXPECT_EQ(*b.view(local).at(at), number_at(at));
    });
  }
}

TEST(CopyPlan, CopiesNoBoxOntoItself) {
  const auto alone = layout_of(box_of<3>({4, 4, 4}), {4, 4, 4}, 1, {});
  EXPECT_TRUE(ghost_plan(*alone, 1, 0).local.empty());
  const auto periodic = layout_of(box_of<3>({4, 4, 4}), {4, 4, 4}, 1, {true, false, false});
  EXPECT_EQ(ghost_plan(*periodic, 1, 0).local.size(), 2u) << "one piece at each end";
}

TEST(TileSchedule, VisitsEveryTileOnceAndTheStaticOneByItsThread) {
  const auto layout = layout_of(box_of<3>({8, 8, 8}), {4, 8, 8}, 1, {});
  const Field<double, 3> field(layout, 0, 0);
  ThreadPool pool({3, Pin::kOff});
  const TileSchedule<3> fixed(field, {2, 3, 8}, Schedule::kStatic, pool);
  const TileSchedule<3> dynamic(field, {2, 3, 8}, Schedule::kDynamic, pool);
  ASSERT_EQ(fixed.tiles().size(), 8u);
  const auto visits_of = [](const TileSchedule<3>& schedule, bool touches) {
    std::map<Point<3>, std::size_t> visits;
    std::mutex mutex;
    const auto visit = [&](const LocalTile<3>& tile, std::size_t worker) {
      const std::scoped_lock lock(mutex);
      EXPECT_TRUE(visits.emplace(tile.box.lower, worker).second);
    };
    touches ? schedule.first_touch(visit) : schedule.run(visit);
    return visits;
  };
  const auto once = visits_of(fixed, true);
  EXPECT_EQ(once.size(), 8u);
  std::map<std::size_t, int> tiles_of_worker;
  for (const auto& [lower, worker] : once) ++tiles_of_worker[worker];
  EXPECT_EQ(tiles_of_worker, (std::map<std::size_t, int>{{0, 2}, {1, 3}, {2, 3}}));
  EXPECT_EQ(visits_of(fixed, false), once);
  EXPECT_EQ(visits_of(dynamic, true), once);
  EXPECT_EQ(visits_of(dynamic, false).size(), 8u);
  const auto few = fixed.without([](const LocalTile<3>& tile) { return tile.local == 0; });
  EXPECT_EQ(visits_of(few, false).size(), 4u);
}

// The thread of the first tile is held up. Nobody takes its second tile, however long it lasts.
TEST(TileSchedule, NobodyTakesAStaticTileOfAnotherThread) {
  const auto layout = layout_of(box_of<3>({4, 4, 4}), {4, 4, 4}, 1, {});
  const Field<double, 3> field(layout, 0, 0);
  ThreadPool pool({2, Pin::kOff});
  for (const bool touches : {false, true}) {
    const TileSchedule<3> fixed(field, {1, 4, 4}, Schedule::kStatic, pool);
    std::mutex mutex;
    std::condition_variable changed;
    bool taken = false;
    const auto visit = [&](const LocalTile<3>& tile, std::size_t worker) {
      std::unique_lock lock(mutex);
      if (tile.box.lower[0] == 0) {
        changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return taken; });
      } else if (tile.box.lower[0] == 1 && worker != 0) {
        taken = true;
        changed.notify_all();
      }
    };
    touches ? fixed.first_touch(visit) : fixed.run(visit);
    EXPECT_FALSE(taken);
  }
}

TEST(TileSchedule, MapsTilesInTheirOrder) {
  const auto layout = layout_of(box_of<3>({8, 8, 8}), {4, 8, 8}, 1, {});
  const Field<double, 3> field(layout, 0, 0);
  ThreadPool pool({3, Pin::kOff});
  const TileSchedule<3> schedule(field, {2, 3, 8}, Schedule::kDynamic, pool);
  const auto boxes = schedule.map<Box<3>>([](const LocalTile<3>& tile) { return tile.box; });
  ASSERT_EQ(boxes.size(), schedule.tiles().size());
  for (std::size_t i = 0; i < boxes.size(); ++i) EXPECT_EQ(boxes[i], schedule.tiles()[i].box);
}

// Rank 0 of two, whose peer always sends the same bytes.
class RepeatingCourier final : public Courier {
 public:
  explicit RepeatingCourier(std::size_t bytes, int ranks = 2) : bytes_(bytes), ranks_(ranks) {}
  int rank() const override { return 0; }
  int num_ranks() const override { return ranks_; }
  std::unique_ptr<Delivery> start(std::vector<Parcel>, std::vector<int>) override {
    ++started;
    return std::make_unique<Repeated>(bytes_, finished);
  }

  int started = 0, finished = 0;  // deliveries

 private:
  struct Repeated final : Delivery {
    Repeated(std::size_t bytes, int& ends) : sent(bytes), finished(ends) {}
    Received next() override { return {1, sent}; }
    void finish() override { ++finished; }
    std::vector<std::byte> sent;
    int& finished;
  };
  std::size_t bytes_;
  int ranks_;
};

TEST(FieldCopy, EndsItsDeliveryOnce) {
  const auto layout = layout_of(box_of<3>({4, 4, 4}), {2, 4, 4}, 2, {});
  ThreadPool pool({1, Pin::kOff});
  Field<std::int64_t, 3> field(layout, 0, 1);
  number(field);
  const auto plan = ghost_plan(*layout, 1, 0);
  RepeatingCourier courier(16 * sizeof(std::int64_t));
  FieldCopy<std::int64_t, 3> copy(field, field, plan, &courier, pool);
  EXPECT_EQ(courier.finished, 0);
  copy.finish();
  copy.finish();
  EXPECT_EQ(courier.started, 1);
  EXPECT_EQ(courier.finished, 1);
}

TEST(FieldCopy, RefusesCellsOfAnotherLayout) {
  const auto layout = layout_of(box_of<3>({4, 4, 4}), {2, 4, 4}, 2, {});
  ThreadPool pool({1, Pin::kOff});
  Field<std::int64_t, 3> field(layout, 0, 1);
  number(field);
  const auto plan = ghost_plan(*layout, 1, 0);
  for (const std::size_t cells : {15, 16, 17}) {
    RepeatingCourier courier(cells * sizeof(std::int64_t));
    FieldCopy<std::int64_t, 3> copy(field, field, plan, &courier, pool);
    if (cells == 16) {
      EXPECT_NO_THROW(copy.finish());
    } else {
      EXPECT_THROW(copy.finish(), Error) << cells;
    }
  }
}

TEST(RankReduction, RefusesAValueOfAnotherSize) {
  RepeatingCourier right(sizeof(int)), longer(sizeof(int) + 1);
  EXPECT_EQ(reduce_ranks(&right, 7, std::plus<>()), 7);
  EXPECT_EQ(right.finished, 1) << "what is sent must have left";
  RepeatingCourier alone(sizeof(int), 1);
  EXPECT_EQ(reduce_ranks(&alone, 7, std::plus<>()), 7);
  EXPECT_EQ(alone.started, 0) << "one rank has nobody to tell";
  EXPECT_THROW(reduce_ranks(&longer, 7, std::plus<>()), Error);
}

TEST(RankReduction, CombinesInTheOrderOfRanks) {
  for (const int ranks : {1, 2, 4}) {
    run_couriers(ranks, 1, [&](Courier& courier, ThreadPool&) {
      const auto digits = reduce_ranks(courier.num_ranks() == 1 ? nullptr : &courier,
                                       courier.rank() + 1, [](int a, int b) { return a * 10 + b; });
      EXPECT_EQ(digits, ranks == 1 ? 1 : ranks == 2 ? 12 : 1234);
    });
  }
}

}  // namespace
}  // namespace tandem::tiling
