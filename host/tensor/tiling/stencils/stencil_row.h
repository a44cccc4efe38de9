// SPDX-License-Identifier: Apache-2.0
//
// The vectorised loops of heat and jacobi over one row of cells, and those of the triad.
//
// Every cell is computed with the same operations in the same order, wherever its row begins or
// ends, so results are bitwise equal for any tiling. They may differ between instruction sets,
// because some use fused multiply-add. Plain arguments; rows do not overlap. Threads: any, on
// different rows.
#pragma once

#include <array>
#include <cstddef>

namespace tandem::tiling {

struct StencilRow {
  // The first cell of the row in planes -1 .. 1 of the source; row_stride: values between rows.
  std::array<const double*, 3> planes{};
  std::ptrdiff_t row_stride = 0;
  // Jacobi: conductivity in planes -1 .. 1, and the heat source of the same cells.
  std::array<const double*, 3> conductivity{};
  std::ptrdiff_t conductivity_stride = 0;
  const double* heat_source = nullptr;
  double* out = nullptr;
  std::size_t count = 0;
  bool streams = false;  // non-temporal stores; call finish_streams() after the last row
  // Rows to bring into the caches meanwhile, each `count` values; hardware follows too few of a
  // stencil's streams. The first kHeatFetched or kJacobiFetched are null or all given; then the
  // next is null, or one more is given for heat and two for jacobi.
  static constexpr std::size_t kHeatFetched = 2, kJacobiFetched = 6;
  std::array<const double*, kJacobiFetched + 2> fetched{};
};

// out = rate * sum of the 6 neighbours + own * u
void heat_row(const StencilRow& row, double rate, double own);

// One Jacobi iteration of -div(k grad u) = f: k of a face is the mean of its two cells.
// out = (sum over faces k u + f) / (sum over faces k)
void jacobi_row(const StencilRow& row);

// a = b + 3 c, and a = b
void triad_row(const double* b, const double* c, double* a, std::size_t count, bool streams);
void copy_row(const double* b, double* a, std::size_t count, bool streams);

// Makes streamed values visible to other threads.
void finish_streams();

}  // namespace tandem::tiling
