// SPDX-License-Identifier: Apache-2.0
//
// The host fills and sums dense arrays of boxes, plane by plane on its threads.
#include "apps/collectives/stencil/device_stencil.h"

#include <algorithm>
#include <numeric>

#include "common/raw_vector.h"

namespace tandem::apps {
namespace {

using tiling::Point;

// Calls visit(point, value) for the cells of plane `plane` of a box, whose values are dense.
template <typename Visit>
void for_plane(const tiling::Box<3>& box, std::int64_t plane, double* values, const Visit& visit) {
  double* value = values + plane * box.extent(1) * box.extent(2);
  for (std::int64_t row = box.lower[1]; row < box.upper[1]; ++row) {
    for (std::int64_t column = box.lower[2]; column < box.upper[2]; ++column) {
      visit(Point<3>{box.lower[0] + plane, row, column}, *value++);
    }
  }
}

device::StencilRule rule_of(tiling::StencilKind kind) {
  if (kind == tiling::StencilKind::kHeat) return device::StencilRule::kHeat;
  return kind == tiling::StencilKind::kJacobi ? device::StencilRule::kJacobi
                                              : device::StencilRule::kAdvection;
}

}  // namespace

DeviceStencil::DeviceStencil(tiling::StencilKind kind, const tiling::StencilOptions& options,
                             std::string_view device, std::chrono::milliseconds timeout,
                             ThreadPool& pool)
    : stencil_(kind),
      timeout_(timeout),
      pool_(pool),
      layout_(tiling::stencil_layout(stencil_, options, 1)),
      ghosts_(tiling::ghost_plan(*layout_, stencil_.radius(), 0)),
      values_(stencil_.num_values()),
      coefficients_(values_.size()) {
  std::iota(values_.begin(), values_.end(), std::size_t{0});
  // The triad takes three.
  const std::size_t fields = std::max<std::size_t>(3, values_.size() + stencil_.num_coefficients());
  unit_ = device::open_stencil_unit(device, {layout_->boxes, stencil_.radius(), fields});
  if (stencil_.has_coefficients()) {
    fill(coefficients_, tiling::Stencil::conductivity, 1);
    fill(coefficients_ + 1, tiling::Stencil::heat_source, 0);
  }
  reset();
}

void DeviceStencil::fill(std::size_t field, CellValue inside, double outside) {
  RawVector<double> cells;
  for (std::size_t number = 0; number < layout_->boxes.size(); ++number) {
    const Box all = layout_->boxes[number].grown(stencil_.radius());
    cells.resize(static_cast<std::size_t>(all.size()));
    pool_.run(static_cast<std::size_t>(all.extent(0)), [&](std::size_t plane) {
      for_plane(all, static_cast<std::int64_t>(plane), cells.data(),
                [&](const Point<3>& at, double& value) {
                  value = layout_->domain.contains(at) ? inside(at) : outside;
                });
    });
    unit_->write(field, number, cells, deadline());
  }
}

void DeviceStencil::reset() {
  for (const std::size_t field : values_) fill(field, tiling::Stencil::initial, 0);
}

void DeviceStencil::run_step() {
  const auto stages = static_cast<std::size_t>(stencil_.stages());
  for (std::size_t stage = 0; stage < stages; ++stage) {
    // As StencilSolver: rk3: 0 -> 1 -> 2 -> 0. Else 0 -> 1, and they are swapped.
    device::StencilStage job;
    job.rule = rule_of(stencil_.kind());
    job.source = values_[stage];
    job.out = values_[(stage + 1) % values_.size()];
    job.factors.rate = tiling::Stencil::kHeatRate;
    const tiling::AdvectionStage& advection = stencil_.advection(static_cast<int>(stage));
    job.factors.derivative = advection.derivative;
    job.factors.courant = advection.courant;
    job.factors.own =
        stencil_.kind() == tiling::StencilKind::kHeat ? tiling::Stencil::kHeatOwn : advection.own;
    job.factors.of_base = advection.of_base;
    if (stencil_.has_coefficients()) {
      job.conductivity = coefficients_;
      job.heat_source = coefficients_ + 1;
    }
    if (stencil_.reads_base(static_cast<int>(stage))) job.base = values_[0];
    unit_->copy_ghosts(job.source, ghosts_.local);
    unit_->run(job);
  }
  if (stages == 1) std::swap(values_[0], values_[1]);
}

std::uint64_t DeviceStencil::checksum() {
  std::uint64_t sum = 0;
  RawVector<double> cells;
  for (std::size_t number = 0; number < layout_->boxes.size(); ++number) {
    const Box& box = layout_->boxes[number];
    const Box all = box.grown(stencil_.radius());
    cells.resize(static_cast<std::size_t>(all.size()));
    unit_->read(values_[0], number, cells, deadline());
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(all.extent(0)));
    pool_.run(sums.size(), [&](std::size_t plane) {
      for_plane(all, static_cast<std::int64_t>(plane), cells.data(),
                [&](const Point<3>& at, double value) {
                  if (box.contains(at)) sums[plane] += tiling::cell_checksum(at, value);
                });
    });
    sum = std::accumulate(sums.begin(), sums.end(), sum);
  }
  return sum;
}

}  // namespace tandem::apps
