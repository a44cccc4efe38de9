// SPDX-License-Identifier: Apache-2.0
//
// Stencils against plain loops, and bitwise against each other over tiles, boxes, ranks, threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "common/error.h"
#include "host/tensor/tiling/instruction_sets.h"
#include "host/tensor/tiling/tiling_ranks.h"
#include "tensor/tiling/stencils/memory_triad.h"
#include "tensor/tiling/stencils/stencil_row.h"
#include "tensor/tiling/stencils/stencil_solver.h"
#include "tensor/tiling/stencils/time_skew.h"

namespace tandem::tiling {
namespace {

constexpr std::array kKinds{StencilKind::kHeat, StencilKind::kJacobi, StencilKind::kRk3};

// A cube of values, with what lies outside of it.
class Cube {
 public:
  Cube(std::int64_t cells, bool periodic, double (*inside)(const Point<3>&), double outside)
      : cells_(cells), periodic_(periodic), outside_(outside) {
    for_rows(box_of<3>({cells, cells, cells}), [&](const Point<3>& row) {
      for (Point<3> at = row; at[2] < cells; ++at[2]) values_.push_back(inside(at));
    });
  }
  double operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    Point<3> at{i, j, k};
    for (std::int64_t& each : at) {
      if (periodic_) each = (each + cells_) % cells_;
      if (each < 0 || each >= cells_) return outside_;
    }
    return values_[static_cast<std::size_t>((at[0] * cells_ + at[1]) * cells_ + at[2])];
  }
  // Each value anew from its place.
  Cube mapped(const std::function<double(std::int64_t, std::int64_t, std::int64_t)>& make) const {
    Cube result = *this;
    std::size_t place = 0;
    for (std::int64_t i = 0; i < cells_; ++i) {
      for (std::int64_t j = 0; j < cells_; ++j) {
        for (std::int64_t k = 0; k < cells_; ++k) result.values_[place++] = make(i, j, k);
      }
    }
    return result;
  }

 private:
  std::int64_t cells_;
  bool periodic_;
  double outside_;
  std::vector<double> values_;
};

Cube heat_step(const Cube& u) {
  return u.mapped([&](std::int64_t i, std::int64_t j, std::int64_t k) {
    return u(i, j, k) + 0.1 * (u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) + u(i, j + 1, k) +
                               u(i, j, k - 1) + u(i, j, k + 1) - 6 * u(i, j, k));
  });
}

Cube jacobi_step(const Cube& u, std::int64_t cells) {
  const Cube c(cells, false, Stencil::conductivity, 1), f(cells, false, Stencil::heat_source, 0);
  return u.mapped([&](std::int64_t i, std::int64_t j, std::int64_t k) {
    double through = f(i, j, k), faces = 0;
    for (const int side : {-1, 1}) {
      for (const Point<3> to :
           {Point<3>{i + side, j, k}, Point<3>{i, j + side, k}, Point<3>{i, j, k + side}}) {
        const double face = (c(i, j, k) + c(to[0], to[1], to[2])) / 2;
        through += face * u(to[0], to[1], to[2]);
        faces += face;
      }
    }
    return through / faces;
  });
}

Cube advected(const Cube& u) {
  constexpr std::array<double, 4> kWeights{4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
  return u.mapped([&](std::int64_t i, std::int64_t j, std::int64_t k) {
    double value = u(i, j, k);
    for (std::int64_t s = 1; s <= 4; ++s) {
      const double weight = kWeights[static_cast<std::size_t>(s - 1)];
      value -= weight * (0.20 * (u(i + s, j, k) - u(i - s, j, k)) +
                         0.15 * (u(i, j + s, k) - u(i, j - s, k)) +
                         0.25 * (u(i, j, k + s) - u(i, j, k - s)));
    }
    return value;
  });
}

// Shu and Osher's third-order method.
Cube rk3_step(const Cube& u) {
  const Cube first = advected(u);
  const Cube moved = advected(first);
  const Cube second = u.mapped(
      [&](auto i, auto j, auto k) { return 3.0 / 4 * u(i, j, k) + 1.0 / 4 * moved(i, j, k); });
  const Cube last = advected(second);
  return u.mapped(
      [&](auto i, auto j, auto k) { return 1.0 / 3 * u(i, j, k) + 2.0 / 3 * last(i, j, k); });
}

Cube after_steps(StencilKind kind, std::int64_t cells, int steps) {
  Cube u(cells, kind == StencilKind::kRk3, Stencil::initial, 0);
  for (int step = 0; step < steps; ++step) {
    u = kind == StencilKind::kHeat     ? heat_step(u)
        : kind == StencilKind::kJacobi ? jacobi_step(u, cells)
                                       : rk3_step(u);
  }
  return u;
}

StencilOptions small_options(std::int64_t cells) {
  StencilOptions options;
  options.cells = cells;
  return options;
}

std::uint64_t checksum_alone(StencilKind kind, std::int64_t cells, int steps) {
  ThreadPool pool({1, Pin::kOff});
  StencilOptions options = small_options(cells);
  options.tile = {cells, cells, cells};
  StencilSolver solver(kind, options, nullptr, pool);
  for (int step = 0; step < steps; ++step) solver.run_step();
  return solver.checksum();
}

TEST(StencilSolver, StepsAsPlainLoopsDo) {
  constexpr std::int64_t kCells = 13;
  ThreadPool pool({2, Pin::kOff});
  for (const StencilKind kind : kKinds) {
    StencilOptions options = small_options(kCells);
    options.tile = {3, 4, 5};
    options.boxes_per_rank = 2;
    StencilSolver solver(kind, options, nullptr, pool);
    for (int step = 0; step < 3; ++step) solver.run_step();
    const Cube expected = after_steps(kind, kCells, 3);
    for (std::size_t local = 0; local < solver.values().num_boxes(); ++local) {
      const auto view = solver.values().view(local);
      for_rows(solver.values().box(local), [&](const Point<3>& row) {
        for (Point<3> at = row; at[2] < solver.values().box(local).upper[2]; ++at[2]) {
          ASSERT_NEAR(*view.at(at), expected(at[0], at[1], at[2]), 1e-13);
        }
      });
    }
  }
}

TEST(StencilSolver, LeavesTheSameBitsForEveryTileBoxScheduleAndStore) {
  constexpr std::int64_t kCells = 21;
  ThreadPool pool({2, Pin::kOff});
  for (const StencilKind kind : kKinds) {
    const std::uint64_t expected = checksum_alone(kind, kCells, 2);
    for (const Point<3> tile : {Point<3>{1, 1, 1}, Point<3>{2, 7, 5}, Point<3>{21, 3, 21}}) {
      for (const std::int64_t boxes : {1, 3, 4}) {
        StencilOptions options = small_options(kCells);
        options.tile = tile;
        options.boxes_per_rank = boxes;
        options.schedule = boxes == 3 ? Schedule::kDynamic : Schedule::kStatic;
        options.streams = boxes != 4;
        StencilSolver solver(kind, options, nullptr, pool);
        solver.run_step();
        EXPECT_NE(solver.checksum(), expected);
        solver.run_step();
        EXPECT_EQ(solver.checksum(), expected);
        solver.reset();
        solver.set_sweep({5, 5, 5}, !options.streams);
        solver.run_step();
        solver.run_step();
        EXPECT_EQ(solver.checksum(), expected);
      }
    }
  }
}

TEST(StencilSolver, LeavesTheSameBitsForEveryNumberOfRanksInSweepsAndPasses) {
  constexpr std::int64_t kCells = 24;
  for (const StencilKind kind : kKinds) {
    const int pass_steps = kind == StencilKind::kRk3 ? 1 : 3;
    const std::uint64_t expected = checksum_alone(kind, kCells, 2 * pass_steps);
    for (const int ranks : {1, 2, 3, 4}) {
      run_couriers(ranks, 2, [&](Courier& courier, ThreadPool& pool) {
        StencilOptions options = small_options(kCells);
        options.tile = {4, 5, 24};
        options.boxes_per_rank = ranks == 2 ? 3 : 1;
        options.pass_steps = pass_steps;
        StencilSolver solver(kind, options, &courier, pool);
        for (int step = 0; step < 2 * pass_steps; ++step) solver.run_step();
        EXPECT_EQ(solver.checksum(), expected) << ranks;
        for (const Point<3> tile : {Point<3>{24, 5, 24}, Point<3>{7, 24, 9}}) {
          solver.reset();
          solver.set_pass_tile(tile);
          solver.run_pass();
          solver.run_pass();
          EXPECT_EQ(solver.checksum(), expected) << ranks;
        }
        solver.run_step();  // a step after passes finds ghost cells and walls as it should
        EXPECT_EQ(solver.checksum(), checksum_alone(kind, kCells, 2 * pass_steps + 1)) << ranks;
      });
    }
  }
}

// Rows that are a whole period, of fewer and of more vectors than their ends take, against rows
// with ghost cells; in sweeps and in passes.
void expect_same_bits_of_periods() {
  ThreadPool pool({1, Pin::kOff});
  for (const std::int64_t cells : {12, 13, 21, 33}) {
    StencilOptions options = small_options(cells);
    options.tile = {2, 7, 5};
    options.pass_steps = 1;
    StencilSolver solver(StencilKind::kRk3, options, nullptr, pool);
    solver.run_step();
    EXPECT_EQ(solver.checksum(), checksum_alone(StencilKind::kRk3, cells, 1)) << cells;
    solver.reset();
    solver.set_pass_tile({cells, 5, cells});
    solver.run_pass();
    EXPECT_EQ(solver.checksum(), checksum_alone(StencilKind::kRk3, cells, 1)) << cells;
  }
}

TEST(StencilSolver, LeavesTheSameBitsOfAPeriodOnEveryInstructionSet) {
  on_every_instruction_set(expect_same_bits_of_periods);
}

TEST(StencilSolver, RefusesWhatCannotBeCutOrFused) {
  ThreadPool pool({1, Pin::kOff});
  StencilOptions options = small_options(2);
  options.boxes_per_rank = 16;
  EXPECT_THROW(StencilSolver(StencilKind::kHeat, options, nullptr, pool), Error);
  EXPECT_THROW(StencilSolver(StencilKind::kRk3, small_options(11), nullptr, pool), Error);
  options = small_options(30);
  options.pass_steps = 2;
  EXPECT_THROW(StencilSolver(StencilKind::kRk3, options, nullptr, pool), Error);
}

// Walls are not zero here and scratch has no number, so a cell that is not kept shows.
TEST(SkewedTile, KeepsTheSourcesValuesAroundTheDomain) {
  constexpr std::int64_t kCells = 6, kLevels = 3, kWide = kCells + 2 * kLevels;
  const Box<3> domain = box_of<3>({kCells, kCells, kCells}), all = domain.grown(kLevels);
  const Point<3> strides{kWide * kWide, kWide, 1};
  std::vector<double> source;
  for_rows(all, [&](const Point<3>& row) {
    for (Point<3> at = row; at[2] < all.upper[2]; ++at[2]) {
      source.push_back(Stencil::initial(at) + (domain.contains(at) ? 0 : 3));
    }
  });
  std::vector<double> expected = source;
  for (int level = 0; level < kLevels; ++level) {
    const std::vector<double> before = expected;
    const FieldView<const double, 3> from{before.data(), all.lower, strides};
    const FieldView<double, 3> to{expected.data(), all.lower, strides};
    for_rows(domain, [&](const Point<3>& row) {
      for (Point<3> at = row; at[2] < domain.upper[2]; ++at[2]) {
        const double* u = from.at(at);
        const double sum =
            u[-1] + u[1] + u[-kWide] + u[kWide] + u[-kWide * kWide] + u[kWide * kWide];
        *to.at(at) = 0.4 * *u + 0.1 * sum;
      }
    });
  }
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Stencil stencil(StencilKind::kHeat);
  for (const Point<3> tile : {Point<3>{6, 6, 6}, Point<3>{6, 3, 6}, Point<3>{3, 2, 3}}) {
    std::vector<double> target(source.size(), none);
    SkewedPass pass;
    pass.stencil = &stencil;
    pass.levels = kLevels;
    pass.writable = domain;
    pass.source = {source.data(), all.lower, strides};
    pass.target = {target.data(), all.lower, strides};
    for (const Box<3>& each : Tiles<3>(domain, tile)) {
      RawVector<double> scratch(100'000);
      std::fill(scratch.begin(), scratch.end(), none);
      skewed_tile(pass, each, scratch);
    }
    const FieldView<const double, 3> seen{target.data(), all.lower, strides};
    const FieldView<const double, 3> wanted{expected.data(), all.lower, strides};
    for_rows(domain, [&](const Point<3>& row) {
      for (Point<3> at = row; at[2] < domain.upper[2]; ++at[2]) {
        ASSERT_NEAR(*seen.at(at), *wanted.at(at), 1e-13) << at[0] << ' ' << at[1] << ' ' << at[2];
      }
    });
  }
}

TEST(CellChecksum, DependsOnThePlaceAndOnEveryBit) {
  EXPECT_NE(cell_checksum({1, 2, 3}, 1.0), cell_checksum({3, 2, 1}, 1.0));
  EXPECT_NE(cell_checksum({1, 2, 3}, 1.0), cell_checksum({1, 2, 3}, std::nextafter(1.0, 2.0)));
  EXPECT_NE(cell_checksum({1, 2, 3}, 0.0), cell_checksum({1, 2, 3}, -0.0));
}

TEST(MemoryTriad, CountsEachArrayOnce) {
  ThreadPool pool({2, Pin::kOff});
  MemoryTriad triad(1001, pool);
  EXPECT_EQ(triad.bytes(), 3 * 8 * 1001);
  EXPECT_EQ(triad.copy_bytes(), 2 * 8 * 1001);
  std::vector<double> b(37, 2), c(37, 5), a(39);
  for (const bool streams : {true, false}) {
    a.assign(39, -1);
    triad_row(b.data(), c.data(), a.data() + 1, 37, streams);
    finish_streams();
    EXPECT_EQ(a.front(), -1);
    EXPECT_EQ(a.back(), -1);
    EXPECT_EQ(std::count(a.begin(), a.end(), 17), 37);
    triad.run(streams);
    copy_row(c.data(), a.data() + 1, 37, streams);
    finish_streams();
    EXPECT_EQ(a.front(), -1);
    EXPECT_EQ(a.back(), -1);
    EXPECT_EQ(std::count(a.begin(), a.end(), 5), 37);
    triad.copy(streams);
  }
}

}  // namespace
}  // namespace tandem::tiling
