// SPDX-License-Identifier: Apache-2.0
//
// Stencil: the reads and the computation of one stencil step, row by row.
//
// heat: explicit 7-point heat equation between cold walls. jacobi: Jacobi iteration of a diffusion
// equation with variable conductivity between cold walls. rk3: advection with 8th-order differences
// and the three-stage Runge-Kutta method of Shu and Osher (J. Comput. Phys. 77(2), 1988), periodic.
// A step has stages(). Each stage reads cells up to radius() away from the stage before it. Later
// stages of rk3 also read the cell's value at the start of the step (`base`). Dimensions: planes,
// rows, columns. Plain values. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/tiling/field.h"
#include "tensor/tiling/stencils/advection_block.h"
#include "tensor/tiling/stencils/seven_point_block.h"
#include "tensor/tiling/stencils/stencil_slab.h"

namespace tandem::tiling {

enum class StencilKind : std::uint8_t { kHeat, kJacobi, kRk3 };

class Stencil {
 public:
  explicit Stencil(StencilKind kind);

  StencilKind kind() const { return kind_; }
  std::int64_t radius() const { return kind_ == StencilKind::kRk3 ? 4 : 1; }
  int stages() const { return kind_ == StencilKind::kRk3 ? 3 : 1; }
  bool is_periodic() const { return kind_ == StencilKind::kRk3; }
  bool has_coefficients() const { return kind_ == StencilKind::kJacobi; }
  // The number of value arrays and of coefficient arrays of a solver.
  std::size_t num_values() const { return kind_ == StencilKind::kRk3 ? 3 : 2; }
  std::size_t num_coefficients() const { return has_coefficients() ? 2 : 0; }
  bool reads_base(int stage) const { return kind_ == StencilKind::kRk3 && stage > 0; }

  // Planes that a slab has at most. Planes of a slab share what is loaded and computed between
  // them.
  std::int64_t slab_planes() const {
    return static_cast<std::int64_t>(kind_ == StencilKind::kRk3 ? kMostSlabPlanes
                                                                : kSevenPointPlanes);
  }

  // The same for sweeps. Memory limits heat there, and serves the rows of one plane sooner.
  std::int64_t sweep_planes() const { return kind_ == StencilKind::kHeat ? 1 : slab_planes(); }

  // Bytes per cell that a step without fusion must read or write: each array once per stage.
  double step_bytes() const;

  // The factors of heat, and of a stage of rk3.
  static constexpr double kHeatRate = 0.1;  // stable below 1/6
  // A constant, because instruction sets with fused multiply-add round the expression otherwise.
  static constexpr double kHeatOwn = 1 - 6 * kHeatRate;
  const AdvectionStage& advection(int stage) const { return stages_[stage]; }

  // stage in [0, stages()).
  void run(int stage, const StencilSlab& slab) const;

  // Values before the first step, at any point of the domain: pseudo-random, from -1 to 1.
  static double initial(const Point<3>& point);
  // Coefficients of jacobi: conductivity from 1 to 2, source from -1 to 1.
  static double conductivity(const Point<3>& point);
  static double heat_source(const Point<3>& point);

 private:
  StencilKind kind_;
  AdvectionStage stages_[3];
};

// A number that depends on a value's bits and position. The wrapping sum over cells does not depend
// on their order and changes with any bit of any value.
std::uint64_t cell_checksum(const Point<3>& point, double value);

}  // namespace tandem::tiling
