// SPDX-License-Identifier: Apache-2.0
//
// Weights of the schemes, and values by a hash of the point.
#include "tensor/tiling/stencils/stencil.h"

#include <bit>

#include "common/split_mix.h"

namespace tandem::tiling {
namespace {

constexpr double kHeatRate = 0.1;  // stable below 1/6
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

}  // namespace

Stencil::Stencil(StencilKind kind) : kind_(kind) {
  constexpr std::array<double, 3> kOwn{1, 1.0 / 4, 2.0 / 3};
  for (std::size_t stage = 0; stage < 3; ++stage) {
    for (std::size_t d = 0; d < 3; ++d) {
      for (std::size_t k = 0; k < 4; ++k) {
        stages_[stage].weights[d][k] = -kCourant[d] * kDerivative[k];
      }
    }
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

void Stencil::run(int stage, const StencilRow& row) const {
  switch (kind_) {
    case StencilKind::kHeat:
      return heat_row(row, kHeatRate);
    case StencilKind::kJacobi:
      return jacobi_row(row);
    case StencilKind::kRk3:
      return advection_row(row, stages_[stage]);
  }
}

double Stencil::initial(const Point<3>& point) { return 2 * fraction(point, 1) - 1; }
double Stencil::conductivity(const Point<3>& point) { return 1 + fraction(point, 2); }
double Stencil::heat_source(const Point<3>& point) { return 2 * fraction(point, 3) - 1; }

std::uint64_t cell_checksum(const Point<3>& point, double value) {
  return split_mix(std::bit_cast<std::uint64_t>(value) ^ hash_of(point, 4));
}

}  // namespace tandem::tiling
