// SPDX-License-Identifier: Apache-2.0
//
// The vectorised loops of the stencils over one row of cells, and those of the triad.
//
// Every cell is computed with the same operations in the same order, wherever its row begins or
// ends, so results are bitwise equal for any tiling. They may differ between instruction sets,
// because some use fused multiply-add. Plain arguments; rows do not overlap. Threads: any, on
// different rows. Sources: 8th-order central differences, Fornberg, Math. Comp. 51(184), 1988.
#pragma once

#include <array>
#include <cstddef>

namespace tandem::tiling {

constexpr std::size_t kMostPlanes = 9;

struct StencilRow {
  // The first cell of the row in planes -radius .. radius of the source; row_stride: values between
  // rows.
  std::array<const double*, kMostPlanes> planes{};
  std::ptrdiff_t row_stride = 0;
  // Jacobi: conductivity in planes -1 .. 1. heat_source, base: values of the same cells (base of
  // rk3 may be null).
  std::array<const double*, 3> conductivity{};
  std::ptrdiff_t conductivity_stride = 0;
  const double* heat_source = nullptr;
  const double* base = nullptr;
  double* out = nullptr;
  std::size_t count = 0;
  bool streams = false;  // non-temporal stores; call finish_streams() after the last row
  // Rows to bring into the caches meanwhile, each `count` values: heat takes one, jacobi three, rk3
  // two. Hardware follows too few of a stencil's streams. All null, or none.
  std::array<const double*, 3> fetched{};
};

// out = u + rate * (sum of the 6 neighbours - 6 u)
void heat_row(const StencilRow& row, double rate);

// One Jacobi iteration of -div(k grad u) = f: k of a face is the mean of its two cells.
// out = (sum over faces k u + f) / (sum over faces k)
void jacobi_row(const StencilRow& row);

// A stage of a Runge-Kutta method for u_t = -velocity . grad u with 8th-order differences:
// out = own * (u + sum over dimensions and distances 1 .. 4 of weights * (u[+] - u[-]))
//       + of_base * base
struct AdvectionStage {
  std::array<std::array<double, 4>, 3> weights{};  // [dimension, distance - 1]
  double own = 1, of_base = 0;
};
void advection_row(const StencilRow& row, const AdvectionStage& stage);

// a = b + 3 c
void triad_row(const double* b, const double* c, double* a, std::size_t count, bool streams);

// Makes streamed values visible to other threads.
void finish_streams();

}  // namespace tandem::tiling
