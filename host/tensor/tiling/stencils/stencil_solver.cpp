// SPDX-License-Identifier: Apache-2.0
//
// A pass has levels = steps * stages; it needs as many ghost cells as its levels reach.
#include "tensor/tiling/stencils/stencil_solver.h"

#include <algorithm>
#include <numeric>

#include "common/error.h"
#include "tensor/tiling/copy_run.h"
#include "tensor/tiling/rank_reduction.h"
#include "tensor/tiling/stencils/stencil_plane.h"
#include "tensor/tiling/stencils/time_skew.h"

namespace tandem::tiling {
namespace {

using Field3 = Field<double, 3>;

std::shared_ptr<const Layout<3>> layout_for(const Stencil& stencil, const StencilOptions& options,
                                            int ranks) {
  auto layout = std::make_shared<Layout<3>>();
  const std::int64_t n = options.cells;
  layout->domain = box_of<3>({n, n, n});
  layout->boxes = cut_in(layout->domain, ranks * options.boxes_per_rank);
  layout->owners = by_curve(layout->domain, layout->boxes, ranks);
  layout->periodic.fill(stencil.is_periodic());
  return layout;
}

std::vector<Field3> fields_for(const std::shared_ptr<const Layout<3>>& layout, std::size_t count,
                               int rank, std::int64_t ghosts) {
  std::vector<Field3> fields;
  for (std::size_t i = 0; i < count; ++i) fields.emplace_back(layout, rank, ghosts);
  return fields;
}

std::int64_t pass_reach(const Stencil& stencil, const StencilOptions& options) {
  return stencil.radius() * std::max(1, stencil.stages() * options.pass_steps);
}

}  // namespace

StencilSolver::StencilSolver(StencilKind kind, const StencilOptions& options, Courier* courier,
                             ThreadPool& pool)
    : stencil_(kind),
      options_(options),
      courier_(courier),
      pool_(pool),
      layout_(layout_for(stencil_, options, courier == nullptr ? 1 : courier->num_ranks())),
      fields_(fields_for(layout_, stencil_.num_values(), courier == nullptr ? 0 : courier->rank(),
                         pass_reach(stencil_, options))),
      coefficients_(
          fields_for(layout_, stencil_.num_coefficients(), fields_[0].rank(), fields_[0].ghosts())),
      step_ghosts_(ghost_plan(*layout_, stencil_.radius(), fields_[0].rank())),
      pass_ghosts_(ghost_plan(*layout_, fields_[0].ghosts(), fields_[0].rank())),
      sweep_(fields_[0], options.tile, options.schedule, pool),
      inner_(sweep_),
      outer_(sweep_),
      pass_(fields_[0], options.pass_tile, options.schedule, pool),
      scratch_(static_cast<std::size_t>(pool.num_threads())) {
  if (kind == StencilKind::kRk3 && options.pass_steps > 1) {
    throw Error("tiling", "a pass of rk3 makes one step, the three stages of which it fuses");
  }
  set_sweep(options.tile, options.streams);
  if (stencil_.has_coefficients()) {
    fill(coefficients_[0], Stencil::conductivity, 1);
    fill(coefficients_[1], Stencil::heat_source, 0);
  }
  reset();
}

void StencilSolver::set_sweep(const Point<3>& tile, bool streams) {
  options_.streams = streams;
  sweep_ = TileSchedule<3>(fields_[0], tile, options_.schedule, pool_);
  const auto needs_others = [this](const LocalTile<3>& each) {
    return !fields_[0].box(each.local).contains(each.box.grown(stencil_.radius()));
  };
  inner_ = sweep_.without(needs_others);
  outer_ = sweep_.without([&](const LocalTile<3>& each) { return !needs_others(each); });
}

void StencilSolver::set_pass_tile(const Point<3>& tile) {
  pass_ = TileSchedule<3>(fields_[0], tile, options_.schedule, pool_);
}

// Ghost cells have their values too: those of other boxes are the same function of the point.
void StencilSolver::fill(Field3& field, double (*inside)(const Point<3>&), double outside) {
  sweep_.first_touch([&](const LocalTile<3>& tile, std::size_t) {
    const FieldView<double, 3> view = field.view(tile.local);
    const Box<3> all = grown_tile(tile.box, field.box(tile.local), field.ghosts());
    for_rows(all, [&](const Point<3>& first) {
      double* to = view.at(first);
      for (Point<3> at = first; at[2] < all.upper[2]; ++at[2]) {
        *to++ = layout_->domain.contains(at) ? inside(at) : outside;
      }
    });
  });
}

void StencilSolver::reset() {
  for (Field3& field : fields_) fill(field, Stencil::initial, 0);
}

void StencilSolver::sweep_tile(int stage, Field3& source, Field3& target,
                               const LocalTile<3>& tile) {
  const FieldView<double, 3> from = source.view(tile.local), to = target.view(tile.local);
  const std::int64_t radius = stencil_.radius();
  // What is read in the same cell is in the caches.
  const bool streams = options_.streams && &target != &fields_[0];
  for (Point<3> at = tile.box.lower; at[0] < tile.box.upper[0]; ++at[0]) {
    StencilPlane plane(from.strides[1]);
    for (std::int64_t k = 0; k <= 2 * radius; ++k) {
      plane.set_plane(static_cast<std::size_t>(k), from.at(at) + (k - radius) * from.strides[0]);
    }
    plane.fetch_ahead(static_cast<std::size_t>(2 * radius));
    plane.set_out(to.at(at), to.strides[1]);
    plane.set_streams(streams);
    if (stencil_.has_coefficients()) {
      const Field3 &conductivity = coefficients_[0], &heat = coefficients_[1];
      plane.set_coefficients(conductivity.view(tile.local), heat.view(tile.local), at);
    }
    if (stencil_.reads_base(stage)) {
      const FieldView<double, 3> base = fields_[0].view(tile.local);
      plane.set_base(base.at(at), base.strides[1]);
    }
    for (std::int64_t row = 0; row < tile.box.extent(1); ++row) {
      stencil_.run(stage, plane.row(row, 0, tile.box.extent(2)));
    }
  }
  if (streams) finish_streams();
}

void StencilSolver::run_step() {
  const std::size_t stages = static_cast<std::size_t>(stencil_.stages());
  for (std::size_t stage = 0; stage < stages; ++stage) {
    // rk3: 0 -> 1 -> 2 -> 0, the last in place of the base. Else 0 -> 1, and they are swapped.
    Field3& source = fields_[stage];
    Field3& target = fields_[(stage + 1) % fields_.size()];
    FieldCopy<double, 3> ghosts(source, source, step_ghosts_, courier_, pool_);
    const auto sweep = [&](const LocalTile<3>& tile, std::size_t) {
      sweep_tile(static_cast<int>(stage), source, target, tile);
    };
    inner_.run(sweep);
    ghosts.finish();
    outer_.run(sweep);
  }
  if (stages == 1) fields_[0].swap(fields_[1]);
}

void StencilSolver::run_pass() {
  TANDEM_CHECK_OP(options_.pass_steps, >, 0);
  FieldCopy<double, 3>(fields_[0], fields_[0], pass_ghosts_, courier_, pool_).finish();
  pass_.run([&](const LocalTile<3>& tile, std::size_t worker) {
    SkewedPass pass;
    pass.stencil = &stencil_;
    pass.levels = options_.pass_steps * stencil_.stages();
    pass.writable =
        stencil_.is_periodic() ? layout_->domain.grown(layout_->domain.extent(0)) : layout_->domain;
    const Field3& source = fields_[0];
    pass.source = source.view(tile.local);
    if (stencil_.has_coefficients()) {
      const Field3 &conductivity = coefficients_[0], &heat = coefficients_[1];
      pass.conductivity = conductivity.view(tile.local);
      pass.heat_source = heat.view(tile.local);
    }
    pass.target = fields_[1].view(tile.local);
    pass.streams = options_.streams;
    skewed_tile(pass, tile.box, scratch_[worker]);
  });
  fields_[0].swap(fields_[1]);
}

std::uint64_t StencilSolver::checksum() const {
  const auto of_tile = [&](const LocalTile<3>& tile) {
    const FieldView<const double, 3> view = fields_[0].view(tile.local);
    std::uint64_t sum = 0;
    for_rows(tile.box, [&](const Point<3>& first) {
      const double* value = view.at(first);
      for (Point<3> at = first; at[2] < tile.box.upper[2]; ++at[2]) {
        sum += cell_checksum(at, *value++);
      }
    });
    return sum;
  };
  const auto sums = sweep_.map<std::uint64_t>(of_tile);
  const auto own = std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
  return reduce_ranks(courier_, own, std::plus<>());
}

}  // namespace tandem::tiling
