// SPDX-License-Identifier: Apache-2.0
//
// Weights of the schemes, and values by a hash of the point.
#include "tensor/tiling/stencils/stencil.h"

#include <algorithm>
#include <bit>

#include "common/error.h"
#include "common/split_mix.h"
#include "tensor/tiling/stencils/seven_point_block.h"
#include "tensor/tiling/stencils/stencil_row.h"

namespace tandem::tiling {
namespace {

// Courant numbers of the three dimensions.
constexpr std::array<double, 3> kCourant{0.20, 0.15, 0.25};
// 8th-order central first derivative at distances 1 .. 4.
constexpr std::array<double, 4> kDerivative{4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};

std::uint64_t hash_of(const Point<3>& point, std::uint64_t seed) {
  for (const std::int64_t index : point) seed = split_mix(seed ^ static_cast<std::uint64_t>(index));
  return seed;
}

// [0, 1)
double fraction(const Point<3>& point, std::uint64_t seed) {
  return static_cast<double>(hash_of(point, seed) >> 11) * 0x1p-53;
}

// Row `row` of plane `plane` of a slab, for heat and jacobi.
StencilRow row_of(const StencilSlab& slab, std::size_t plane, std::int64_t row) {
  StencilRow result;
  const std::ptrdiff_t moved = row * slab.source_stride, in_fields = row * slab.field_stride;
  for (std::size_t k = 0; k < 3; ++k) result.planes[k] = slab.source[plane + k] + moved;
  result.row_stride = slab.source_stride;
  result.out = slab.out[plane] + row * slab.out_stride;
  result.count = static_cast<std::size_t>(slab.num_columns);
  result.streams = slab.streams;
  const bool has_heat_source = slab.heat_source[plane] != nullptr;
  if (has_heat_source) {
    for (std::size_t k = 0; k < 3; ++k) {
      result.conductivity[k] = slab.conductivity[plane + k] + in_fields;
    }
    result.conductivity_stride = slab.field_stride;
    result.heat_source = slab.heat_source[plane] + in_fields;
  }
  if (!slab.fetches) return result;
  std::size_t place = 0;
  const double *const above = slab.source[plane + 2], *const k_above = slab.conductivity[plane + 2];
  for (const bool again : {false, true}) {
    result.fetched[place++] = above + slab.fetched_row(row, slab.source_stride, again);
    if (!has_heat_source) continue;
    const std::ptrdiff_t ahead = slab.fetched_row(row, slab.field_stride, again);
    result.fetched[place++] = k_above + ahead;
    result.fetched[place++] = slab.heat_source[plane] + ahead;
  }
  const std::int64_t halo = slab.halo_row(row, 1, 1);
  if (halo == row) return result;
  result.fetched[place++] = above + halo * slab.source_stride;
  if (has_heat_source) result.fetched[place] = k_above + halo * slab.field_stride;
  return result;
}

}  // namespace

Stencil::Stencil(StencilKind kind) : kind_(kind) {
  constexpr std::array<double, 3> kOwn{1, 1.0 / 4, 2.0 / 3};
  for (std::size_t stage = 0; stage < 3; ++stage) {
    stages_[stage].derivative = kDerivative;
    for (std::size_t d = 0; d < 3; ++d) stages_[stage].courant[d] = -kCourant[d];
    stages_[stage].own = kOwn[stage];
    stages_[stage].of_base = 1 - kOwn[stage];
  }
}

double Stencil::step_bytes() const {
  switch (kind_) {
    case StencilKind::kHeat:
      return 2 * sizeof(double);
    case StencilKind::kJacobi:
      return 4 * sizeof(double);
    case StencilKind::kRk3:
      return (2 + 3 + 3) * sizeof(double);
  }
  return 0;
}

void Stencil::run(int stage, const StencilSlab& slab) const {
  if (slab.fetches) TANDEM_CHECK_OP(slab.field_stride, ==, slab.source_stride);
  if (kind_ == StencilKind::kRk3) {
    for (std::int64_t row = 0; row < slab.num_rows; row += kAdvectionRows) {
      advection_block(slab, row, std::min(kAdvectionRows, slab.num_rows - row), stages_[stage]);
    }
    return;
  }
  const std::int64_t paired =
      kind_ == StencilKind::kHeat ? heat_blocks(slab, kHeatRate, kHeatOwn) : jacobi_blocks(slab);
  for (std::int64_t row = paired; row < slab.num_rows; ++row) {
    for (std::size_t plane = 0; plane < slab.num_planes; ++plane) {
      const StencilRow each = row_of(slab, plane, row);
      kind_ == StencilKind::kHeat ? heat_row(each, kHeatRate, kHeatOwn) : jacobi_row(each);
    }
  }
}

double Stencil::initial(const Point<3>& point) { return 2 * fraction(point, 1) - 1; }
double Stencil::conductivity(const Point<3>& point) { return 1 + fraction(point, 2); }
double Stencil::heat_source(const Point<3>& point) { return 2 * fraction(point, 3) - 1; }

std::uint64_t cell_checksum(const Point<3>& point, double value) {
  return split_mix(std::bit_cast<std::uint64_t>(value) ^ hash_of(point, 4));
}

}  // namespace tandem::tiling
