// SPDX-License-Identifier: Apache-2.0
//
// Stages of stencils over a box against plain loops; boxes that end inside of a block of threads,
// and that go on over several; copies between boxes; what has no cells.
#include "stencil/box_step.h"

#include <array>
#include <random>

#include "gpu_kernels/device_array.h"

namespace tandem::gpu_kernels {
namespace {

std::vector<double> random_doubles(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<double>(random() % 2001) / 1000 - 1;
  return values;
}

// A box with ghost cells around it, rows contiguous and a little apart.
struct GhostBox {
  std::int64_t planes, rows, columns, ghosts;
  std::int64_t row_stride() const { return columns + 2 * ghosts + 3; }
  std::int64_t plane_stride() const { return (rows + 2 * ghosts) * row_stride(); }
  std::size_t size() const {
    return static_cast<std::size_t>((planes + 2 * ghosts) * plane_stride());
  }
  std::size_t at(std::int64_t plane, std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>((plane + ghosts) * plane_stride() +
                                    (row + ghosts) * row_stride() + column + ghosts);
  }
  std::size_t first() const { return at(0, 0, 0); }
};

struct StepValues {
  std::vector<double> source, conductivity, heat_source, base;
};

struct NaiveStep {
  const GhostBox& box;
  const StepValues& v;
  BoxFactors f;

  double sum_of_faces(std::size_t at, double& through) const {
    const auto plane = static_cast<std::size_t>(box.plane_stride()),
               row = static_cast<std::size_t>(box.row_stride());
    double faces = 0;
    for (const std::size_t step : {std::size_t{1}, row, plane}) {
      for (const std::size_t to : {at - step, at + step}) {
        const double face = (v.conductivity[at] + v.conductivity[to]) / 2;
        through += face * v.source[to];
        faces += face;
      }
    }
    return faces;
  }

  double operator()(BoxRule rule, std::size_t at) const {
    const auto plane = static_cast<std::size_t>(box.plane_stride()),
               row = static_cast<std::size_t>(box.row_stride());
    const std::array<std::size_t, 3> steps{plane, row, 1};
    const std::vector<double>& u = v.source;
    if (rule == BoxRule::kHeat) {
      double sum = -6 * u[at];
      for (const std::size_t step : steps) sum += u[at - step] + u[at + step];
      return u[at] + f.rate * sum;
    }
    if (rule == BoxRule::kJacobi) {
      double through = v.heat_source[at];
      const double faces = sum_of_faces(at, through);
      return through / faces;
    }
    double moved = u[at];
    for (std::size_t d = 0; d < 3; ++d) {
      for (std::size_t k = 1; k <= 4; ++k) {
        moved += f.courant[d] * f.derivative[k - 1] * (u[at + k * steps[d]] - u[at - k * steps[d]]);
      }
    }
    return v.base.empty() ? moved : f.own * moved + f.of_base * v.base[at];
  }
};

void expect_naive_step(BoxRule rule, const GhostBox& box, bool has_base = false) {
  SCOPED_TRACE(testing::Message() << "rule " << static_cast<int>(rule) << ", box " << box.planes
                                  << " x " << box.rows << " x " << box.columns);
  StepValues v{random_doubles(box.size(), 1),
               random_doubles(box.size(), 2),
               random_doubles(box.size(), 3),
               {}};
  for (double& each : v.conductivity) each += 2;
  if (has_base) v.base = random_doubles(box.size(), 4);
  DeviceArray<double> source(v.source), conductivity(v.conductivity), heat(v.heat_source);
  // In place of the base, as the last stage of rk3.
  DeviceArray<double> out(has_base ? v.base : std::vector<double>(box.size(), 9));
  BoxStep job;
  job.source = source.data() + box.first();
  if (rule == BoxRule::kJacobi) {
    job.conductivity = conductivity.data() + box.first();
    job.heat_source = heat.data() + box.first();
  }
  job.out = out.data() + box.first();
  if (has_base) job.base = job.out;
  job.plane_stride = box.plane_stride();
  job.row_stride = box.row_stride();
  job.planes = static_cast<std::uint32_t>(box.planes);
  job.rows = static_cast<std::uint32_t>(box.rows);
  job.columns = static_cast<std::uint32_t>(box.columns);
  job.factors = {0.1, {0.8, -0.2, 4.0 / 105, -1.0 / 280}, {-0.2, -0.15, -0.25}, 0.25, 0.75};
  if (rule == BoxRule::kHeat) job.factors.own = 1 - 6 * job.factors.rate;
  ASSERT_EQ(step_box(job, rule, nullptr), cudaSuccess);
  const std::vector<double> got = out.download();
  const NaiveStep naive{box, v, job.factors};
  std::vector<double> want = has_base ? v.base : std::vector<double>(box.size(), 9);
  for (std::int64_t i = 0; i < box.planes; ++i) {
    for (std::int64_t j = 0; j < box.rows; ++j) {
      for (std::int64_t k = 0; k < box.columns; ++k)
        want[box.at(i, j, k)] = naive(rule, box.at(i, j, k));
    }
  }
  for (std::size_t at = 0; at < want.size(); ++at) ASSERT_NEAR(got[at], want[at], 1e-13) << at;
}

TEST_P(KernelTest, StagesOverABoxAreThePlainLoops) {
  for (const GhostBox& size :
       {GhostBox{1, 1, 1, 0}, GhostBox{3, 8, 32, 0}, GhostBox{35, 9, 33, 0}}) {
    for (const BoxRule rule : {BoxRule::kHeat, BoxRule::kJacobi, BoxRule::kAdvection}) {
      GhostBox box = size;
      box.ghosts = box_radius(rule);
      expect_naive_step(rule, box);
    }
    GhostBox wider = size;
    wider.ghosts = 5;  // more than the stencil reads
    expect_naive_step(BoxRule::kAdvection, wider, true);
  }
}

TEST_P(KernelTest, ABoxWithoutCellsOrTooLargeForAGridLaunchesNothing) {
  BoxStep job;
  EXPECT_EQ(step_box(job, BoxRule::kHeat, nullptr), cudaSuccess);
  job.planes = job.columns = 1;
  job.rows = 8 * 65535 + 1;
  EXPECT_EQ(step_box(job, BoxRule::kHeat, nullptr), cudaErrorInvalidValue);
  std::swap(job.planes, job.rows);
  job.planes = 32 * 65535 + 1;
  EXPECT_EQ(step_box(job, BoxRule::kHeat, nullptr), cudaErrorInvalidValue);
  CellCopy copy;
  EXPECT_EQ(copy_cells(copy, nullptr), cudaSuccess);
  copy.planes = copy.rows = copy.columns = 1u << 20;
  EXPECT_EQ(copy_cells(copy, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(triad(nullptr, nullptr, nullptr, 0, nullptr), cudaSuccess);
  EXPECT_EQ(triad(nullptr, nullptr, nullptr, std::size_t{1} << 40, nullptr), cudaErrorInvalidValue);
}

TEST_P(KernelTest, CellsAreCopiedBetweenBoxesOfOtherStrides) {
  const GhostBox one{4, 7, 21, 1}, other{5, 9, 25, 2};
  const std::vector<double> values = random_doubles(one.size(), 5);
  DeviceArray<double> from(values), to(std::vector<double>(other.size(), 9));
  CellCopy copy;
  copy.from = from.data() + one.at(1, 2, 3);
  copy.to = to.data() + other.at(0, -2, 1);
  copy.from_plane_stride = one.plane_stride();
  copy.from_row_stride = one.row_stride();
  copy.to_plane_stride = other.plane_stride();
  copy.to_row_stride = other.row_stride();
  copy.planes = 3;
  copy.rows = 5;
  copy.columns = 18;
  ASSERT_EQ(copy_cells(copy, nullptr), cudaSuccess);
  std::vector<double> want(other.size(), 9);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      for (std::int64_t k = 0; k < 18; ++k) {
        want[other.at(i, j - 2, k + 1)] = values[one.at(i + 1, j + 2, k + 3)];
      }
    }
  }
  EXPECT_EQ(to.download(), want);
}

TEST_P(KernelTest, TheTriadAddsThreeTimesTheSecondArray) {
  const std::vector<double> b = random_doubles(1001, 6), c = random_doubles(1001, 7);
  DeviceArray<double> first(b), second(c), sums(b.size());
  ASSERT_EQ(triad(first.data(), second.data(), sums.data(), b.size(), nullptr), cudaSuccess);
  const std::vector<double> got = sums.download();
  for (std::size_t i = 0; i < b.size(); ++i) ASSERT_NEAR(got[i], b[i] + 3 * c[i], 1e-15);
}

}  // namespace
}  // namespace tandem::gpu_kernels
