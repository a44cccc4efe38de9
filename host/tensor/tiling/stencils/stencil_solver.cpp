// SPDX-License-Identifier: Apache-2.0
//
// A pass has levels = steps * stages; it needs as many ghost cells as its levels reach.
#include "tensor/tiling/stencils/stencil_solver.h"

#include <algorithm>
#include <numeric>

#include "common/error.h"
#include "tensor/tiling/copy_run.h"
#include "tensor/tiling/rank_reduction.h"
#include "tensor/tiling/stencils/stencil_row.h"
#include "tensor/tiling/stencils/time_skew.h"

namespace tandem::tiling {
namespace {

using Field3 = Field<double, 3>;

std::vector<Field3> fields_for(const std::shared_ptr<const Layout<3>>& layout, std::size_t count,
                               int rank, std::int64_t ghosts) {
  std::vector<Field3> fields;
  for (std::size_t i = 0; i < count; ++i) fields.emplace_back(layout, rank, ghosts);
  return fields;
}

std::int64_t pass_reach(const Stencil& stencil, const StencilOptions& options) {
  return stencil.radius() * std::max(1, stencil.stages() * options.pass_steps);
}

// The pieces without those across the ends of the columns.
CopyPlan<3> without_columns(CopyPlan<3> plan) {
  const auto thin = [](std::vector<CopyPiece<3>>& pieces) {
    std::erase_if(pieces, [](const CopyPiece<3>& piece) { return piece.shift[2] != 0; });
  };
  thin(plan.local);
  for (auto* peers : {&plan.sends, &plan.receives}) {
    for (auto& each : *peers) thin(each.second);
    std::erase_if(*peers, [](const auto& each) { return each.second.empty(); });
  }
  return plan;
}

constexpr std::int64_t kWhole = std::int64_t{1} << 40;

// The fields of a sweep, in one box.
struct SweptFields {
  FieldView<const double, 3> source, conductivity, heat_source, base;
  FieldView<double, 3> target;
  bool streams = false, wraps = false;
};

// All fields of a box have the same strides.
StencilSlab slab_of(const SweptFields& fields, std::int64_t radius, const Box<3>& box) {
  StencilSlab slab;
  slab.num_planes = static_cast<std::size_t>(box.extent(0));
  slab.num_rows = box.extent(1);
  slab.num_columns = box.extent(2);
  const std::ptrdiff_t plane = fields.source.strides[0];
  for (std::size_t k = 0; k < slab.num_planes; ++k) {
    const auto up = static_cast<std::ptrdiff_t>(k) * plane;
    slab.out[k] = fields.target.at(box.lower) + up;
    if (fields.base.first != nullptr) slab.base[k] = fields.base.at(box.lower) + up;
    if (fields.heat_source.first == nullptr) continue;
    slab.heat_source[k] = fields.heat_source.at(box.lower) + up;
  }
  for (std::ptrdiff_t k = -radius; k < box.extent(0) + radius; ++k) {
    const auto place = static_cast<std::size_t>(k + radius);
    slab.source[place] = fields.source.at(box.lower) + k * plane;
    if (fields.heat_source.first == nullptr) continue;
    slab.conductivity[place] = fields.conductivity.at(box.lower) + k * plane;
  }
  slab.source_stride = slab.field_stride = slab.out_stride = fields.source.strides[1];
  slab.streams = fields.streams;
  slab.wraps = fields.wraps;
  slab.fetches = true;
  slab.next = box.extent(0) * plane;
  return slab;
}

}  // namespace

std::shared_ptr<const Layout<3>> stencil_layout(const Stencil& stencil,
                                                const StencilOptions& options, int ranks) {
  auto layout = std::make_shared<Layout<3>>();
  const std::int64_t n = options.cells;
  layout->domain = box_of<3>({n, n, n});
  layout->boxes = cut_in(layout->domain, ranks * options.boxes_per_rank);
  layout->owners = by_curve(layout->domain, layout->boxes, ranks);
  layout->periodic.fill(stencil.is_periodic());
  return layout;
}

StencilSolver::StencilSolver(StencilKind kind, const StencilOptions& options, Courier* courier,
                             ThreadPool& pool)
    : stencil_(kind),
      options_(options),
      courier_(courier),
      pool_(pool),
      layout_(stencil_layout(stencil_, options, courier == nullptr ? 1 : courier->num_ranks())),
      fields_(fields_for(layout_, stencil_.num_values(), courier == nullptr ? 0 : courier->rank(),
                         pass_reach(stencil_, options))),
      coefficients_(
          fields_for(layout_, stencil_.num_coefficients(), fields_[0].rank(), fields_[0].ghosts())),
      step_ghosts_(ghost_plan(*layout_, stencil_.radius(), fields_[0].rank())),
      pass_ghosts_(ghost_plan(*layout_, fields_[0].ghosts(), fields_[0].rank())),
      step_faces_(without_columns(step_ghosts_)),
      pass_faces_(without_columns(pass_ghosts_)),
      sweep_(fields_[0], options.tile, options.schedule, pool),
      inner_(sweep_),
      outer_(sweep_),
      pass_(fields_[0], options.pass_tile, options.schedule, pool),
      scratch_(static_cast<std::size_t>(pool.num_threads())) {
  if (kind == StencilKind::kRk3 && options.pass_steps > 1) {
    throw Error("tiling", "a pass of rk3 makes one step, the three stages of which it fuses");
  }
  set_sweep(options.tile, options.streams);
  set_pass_tile(options.pass_tile);
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
  sweep_wraps_ = tiles_wrap(tile);
}

void StencilSolver::set_pass_tile(const Point<3>& tile) {
  pass_ = TileSchedule<3>(fields_[0], tile, options_.schedule, pool_);
  pass_wraps_ = tiles_wrap(tile);
}

// All ranks decide alike, because they send each other what the tiles read.
bool StencilSolver::tiles_wrap(const Point<3>& tile) const {
  const Box<3>& domain = layout_->domain;
  if (!layout_->periodic[2] || domain.extent(2) / tile[2] > 1) return false;
  return std::ranges::all_of(layout_->boxes,
                             [&](const Box<3>& box) { return box.extent(2) == domain.extent(2); });
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
  SweptFields fields;
  const Field3& read = source;
  fields.source = read.view(tile.local);
  fields.target = target.view(tile.local);
  if (stencil_.has_coefficients()) {
    const Field3 &conductivity = coefficients_[0], &heat = coefficients_[1];
    fields.conductivity = conductivity.view(tile.local);
    fields.heat_source = heat.view(tile.local);
  }
  const Field3& base = fields_[0];
  if (stencil_.reads_base(stage)) fields.base = base.view(tile.local);
  // What is read in the same cell is in the caches.
  fields.streams = options_.streams && &target != &fields_[0];
  fields.wraps = sweep_wraps_;
  for (const Box<3>& box : Tiles<3>(tile.box, {stencil_.sweep_planes(), kWhole, kWhole})) {
    stencil_.run(stage, slab_of(fields, stencil_.radius(), box));
  }
  if (fields.streams) finish_streams();
}

void StencilSolver::run_step() {
  const std::size_t stages = static_cast<std::size_t>(stencil_.stages());
  for (std::size_t stage = 0; stage < stages; ++stage) {
    // rk3: 0 -> 1 -> 2 -> 0, the last in place of the base. Else 0 -> 1, and they are swapped.
    Field3& source = fields_[stage];
    Field3& target = fields_[(stage + 1) % fields_.size()];
    FieldCopy<double, 3> ghosts(source, source, sweep_wraps_ ? step_faces_ : step_ghosts_, courier_,
                                pool_);
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
  FieldCopy<double, 3>(fields_[0], fields_[0], pass_wraps_ ? pass_faces_ : pass_ghosts_, courier_,
                       pool_)
      .finish();
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
    pass.wraps = pass_wraps_;
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
