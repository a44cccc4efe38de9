// SPDX-License-Identifier: Apache-2.0
//
// StencilSlab: some consecutive planes of a box, which a stencil computes together, row by row.
//
// Every source plane is read once for all planes of a slab, so a slab of n planes reads
// (n + 2 * radius) / n planes per result. Pointers are at the box's first row and column. The
// distances of rows are in values. Plain values. Threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tandem::tiling {

constexpr std::size_t kMostSlabPlanes = 4, kMostRadius = 4;

struct StencilSlab {
  std::size_t num_planes = 1;
  std::int64_t num_rows = 0, num_columns = 0;
  // Planes -radius .. num_planes - 1 + radius of the source.
  std::array<const double*, kMostSlabPlanes + 2 * kMostRadius> source{};
  std::array<const double*, kMostSlabPlanes + 2> conductivity{};  // jacobi: planes -1 .. num_planes
  std::array<const double*, kMostSlabPlanes> heat_source{};       // jacobi
  std::array<const double*, kMostSlabPlanes> base{};              // rk3, null in the first stage
  std::array<double*, kMostSlabPlanes> out{};
  std::ptrdiff_t source_stride = 0, out_stride = 0;
  std::ptrdiff_t field_stride = 0;  // of conductivity, heat_source and base
  // rk3: the row is a whole period, so its first and last columns are neighbours. Then ghost cells
  // of columns are not read.
  bool wraps = false;
  bool streams = false;  // non-temporal stores; call finish_streams() after the last row
  // Whether memory, not a cache, delivers the source's last planes, the coefficients and base: the
  // rows after the next are requested early. All of them then have one layout: field_stride is
  // source_stride, and `next` leads from any of their planes to that of the next slab.
  bool fetches = false;
  std::ptrdiff_t next = 0;

  // The distance from a plane's first cell to the row that is requested early while `row` is
  // computed. Each row is requested twice, because a core drops a request while too many others
  // wait for memory.
  std::ptrdiff_t fetched_row(std::int64_t row, std::ptrdiff_t stride, bool again = false) const {
    row += again ? kRowsAheadAgain : kRowsAhead;
    return row < num_rows ? row * stride : next + (row - num_rows) * stride;
  }

  // The next slab also reads `radius` rows before the first row and after the last one, of the
  // source's last planes and their conductivity. They are requested early as well: the block of
  // rows [row, row + block) requests as many rows, from the returned one on. `row`: none.
  std::int64_t halo_row(std::int64_t row, std::int64_t radius, std::int64_t block) const {
    if (row < radius) return row - radius;
    return row + block > num_rows - radius ? row + radius : row;
  }

 private:
  static constexpr std::int64_t kRowsAhead = 4, kRowsAheadAgain = 2;
};

}  // namespace tandem::tiling
