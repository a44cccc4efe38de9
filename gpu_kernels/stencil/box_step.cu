// SPDX-License-Identifier: Apache-2.0
//
// A window of planes moves up in registers; threads at the box's edges only help to load.
#include "stencil/box_step.h"

#include <cmath>
#include <type_traits>

#include "common/launch.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kStepColumns = 32, kStepRows = 8, kStepPlanes = 32;
constexpr int kThreads = kStepColumns * kStepRows;
constexpr std::size_t kMostGridBlocks = 65535;  // of the second and third dimension

template <int kRadius>
struct PlaneTile {
  double values[kStepRows + 2 * kRadius][kStepColumns + 2 * kRadius];

  // Loads the block's part of a plane; `plane` is at the box's first row and column.
  __device__ void load(const double* plane, const BoxStep& job, int first_row, int first_column) {
    constexpr int kWide = kStepColumns + 2 * kRadius, kHigh = kStepRows + 2 * kRadius;
    for (int at = static_cast<int>(threadIdx.x); at < kWide * kHigh; at += kThreads) {
      const int row = first_row + at / kWide - kRadius,
                column = first_column + at % kWide - kRadius;
      if (row >= static_cast<int>(job.rows) + kRadius) continue;
      if (column >= static_cast<int>(job.columns) + kRadius) continue;
      values[at / kWide][at % kWide] = plane[row * job.row_stride + column];
    }
  }
};

struct NoTile {};

// The sum over distances; at(k) is the neighbour at distance k.
template <typename Neighbour>
__device__ double differences(const double (&weights)[4], const Neighbour& at) {
  double sum = weights[0] * (at(1) - at(-1));
  sum = fma(weights[1], at(2) - at(-2), sum);
  sum = fma(weights[2], at(3) - at(-3), sum);
  return fma(weights[3], at(4) - at(-4), sum);
}

// A cell and its neighbours: `tile` at the cell, `window` with the planes' values of it.
template <int kRadius>
struct StepCell {
  const PlaneTile<kRadius>& tile;
  const double (&window)[2 * kRadius + 1];
  int row, column;  // in the block

  __device__ double rows(int k) const { return tile.values[row + kRadius + k][column + kRadius]; }
  __device__ double columns(int k) const {
    return tile.values[row + kRadius][column + kRadius + k];
  }
  __device__ double planes(int k) const { return window[kRadius + k]; }
};

__device__ double heat_of(const StepCell<1>& u, const BoxFactors& f) {
  const double columns = u.columns(-1) + u.columns(1), rows = u.rows(-1) + u.rows(1);
  const double sum = columns + rows + (u.planes(-1) + u.planes(1));
  return fma(f.rate, sum, f.own * u.planes(0));
}

__device__ void add_face(double value, double conductivity, double own, double& through,
                         double& faces) {
  const double face = 0.5 * (own + conductivity);
  through = fma(face, value, through);
  faces += face;
}

__device__ double jacobi_of(const StepCell<1>& u, const StepCell<1>& k, double heat_source) {
  const double own = k.planes(0);
  double through = heat_source, faces = 0;
  add_face(u.columns(-1), k.columns(-1), own, through, faces);
  add_face(u.columns(1), k.columns(1), own, through, faces);
  add_face(u.rows(-1), k.rows(-1), own, through, faces);
  add_face(u.rows(1), k.rows(1), own, through, faces);
  add_face(u.planes(-1), k.planes(-1), own, through, faces);
  add_face(u.planes(1), k.planes(1), own, through, faces);
  return through / faces;
}

__device__ double advected(const StepCell<4>& u, const BoxFactors& f, const double* base) {
  const auto planes = [&](int k) { return u.planes(k); };
  const auto rows = [&](int k) { return u.rows(k); };
  const auto columns = [&](int k) { return u.columns(k); };
  double moved = fma(f.courant[0], differences(f.derivative, planes), u.planes(0));
  moved = fma(f.courant[1], differences(f.derivative, rows), moved);
  moved = fma(f.courant[2], differences(f.derivative, columns), moved);
  return base == nullptr ? moved : fma(f.of_base, *base, f.own * moved);
}

// The planes' values around a cell, from memory.
template <int kRadius>
struct Window {
  double values[2 * kRadius + 1];

  __device__ void start(const double* cell, std::int64_t stride) {
#pragma unroll
    for (int k = -kRadius; k <= kRadius; ++k) values[kRadius + k] = cell[k * stride];
  }
  __device__ void move(double next) {
#pragma unroll
    for (int k = 0; k < 2 * kRadius; ++k) values[k] = values[k + 1];
    values[2 * kRadius] = next;
  }
};

template <BoxRule rule, int kRadius>
__global__ __launch_bounds__(kThreads) void step_kernel(BoxStep job) {
  let_next_start();
  wait_for_previous();
  constexpr bool kHasFaces = rule == BoxRule::kJacobi;
  __shared__ PlaneTile<kRadius> tile;
  __shared__ std::conditional_t<kHasFaces, PlaneTile<kRadius>, NoTile> faces;
  const int in_row = static_cast<int>(threadIdx.x) / kStepColumns,
            in_column = static_cast<int>(threadIdx.x) % kStepColumns;
  const int first_row = static_cast<int>(blockIdx.y) * kStepRows,
            first_column = static_cast<int>(blockIdx.x) * kStepColumns;
  const int row = first_row + in_row, column = first_column + in_column;
  const bool is_inside = row < static_cast<int>(job.rows) && column < static_cast<int>(job.columns);
  const int begin = static_cast<int>(blockIdx.z) * kStepPlanes;
  const int end = begin + kStepPlanes < static_cast<int>(job.planes) ? begin + kStepPlanes
                                                                     : static_cast<int>(job.planes);
  const std::int64_t cell = begin * job.plane_stride + row * job.row_stride + column;
  Window<kRadius> values{}, conductivity{};
  if (is_inside) values.start(job.source + cell, job.plane_stride);
  if (kHasFaces && is_inside) conductivity.start(job.conductivity + cell, job.plane_stride);
  for (int plane = begin; plane < end; ++plane) {
    const std::int64_t first = plane * job.plane_stride;
    const std::int64_t at = first + row * job.row_stride + column;
    tile.load(job.source + first, job, first_row, first_column);
    if constexpr (kHasFaces) faces.load(job.conductivity + first, job, first_row, first_column);
    __syncthreads();
    if (is_inside) {
      const StepCell<kRadius> u{tile, values.values, in_row, in_column};
      if constexpr (rule == BoxRule::kHeat) {
        job.out[at] = heat_of(u, job.factors);
      } else if constexpr (kHasFaces) {
        const StepCell<kRadius> k{faces, conductivity.values, in_row, in_column};
        job.out[at] = jacobi_of(u, k, job.heat_source[at]);
      } else {
        job.out[at] = advected(u, job.factors, job.base == nullptr ? nullptr : job.base + at);
      }
      const std::int64_t next = at + (kRadius + 1) * job.plane_stride;
      if (plane + 1 < end) {
        values.move(job.source[next]);
        if (kHasFaces) conductivity.move(job.conductivity[next]);
      }
    }
    __syncthreads();
  }
}

__global__ __launch_bounds__(kThreads) void copy_cells_kernel(CellCopy job) {
  let_next_start();
  wait_for_previous();
  const std::size_t cells = static_cast<std::size_t>(job.planes) * job.rows * job.columns;
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= cells) return;
  const auto column = static_cast<std::int64_t>(at % job.columns);
  const auto row = static_cast<std::int64_t>(at / job.columns % job.rows);
  const auto plane = static_cast<std::int64_t>(at / job.columns / job.rows);
  job.to[plane * job.to_plane_stride + row * job.to_row_stride + column] =
      job.from[plane * job.from_plane_stride + row * job.from_row_stride + column];
}

__global__ __launch_bounds__(kThreads) void triad_kernel(const double* b, const double* c,
                                                         double* a, std::size_t count) {
  let_next_start();
  wait_for_previous();
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at < count) a[at] = fma(3.0, c[at], b[at]);
}

template <BoxRule rule>
cudaError_t start_step(const BoxStep& job, dim3 grid, cudaStream_t stream) {
  return launch(stream, grid, kThreads, step_kernel<rule, box_radius(rule)>, job);
}

std::size_t parts_of(std::size_t whole, std::size_t part) { return (whole + part - 1) / part; }

}  // namespace

cudaError_t step_box(const BoxStep& job, BoxRule rule, cudaStream_t stream) {
  if (job.planes == 0 || job.rows == 0 || job.columns == 0) return cudaSuccess;
  const std::size_t rows = parts_of(job.rows, kStepRows),
                    planes = parts_of(job.planes, kStepPlanes);
  if (rows > kMostGridBlocks || planes > kMostGridBlocks) return cudaErrorInvalidValue;
  const dim3 grid(static_cast<unsigned>(parts_of(job.columns, kStepColumns)),
                  static_cast<unsigned>(rows), static_cast<unsigned>(planes));
  switch (rule) {
    case BoxRule::kHeat:
      return start_step<BoxRule::kHeat>(job, grid, stream);
    case BoxRule::kJacobi:
      return start_step<BoxRule::kJacobi>(job, grid, stream);
    case BoxRule::kAdvection:
      return start_step<BoxRule::kAdvection>(job, grid, stream);
  }
  return cudaErrorInvalidValue;
}

cudaError_t copy_cells(const CellCopy& job, cudaStream_t stream) {
  const std::size_t cells = static_cast<std::size_t>(job.planes) * job.rows * job.columns;
  if (cells == 0) return cudaSuccess;
  const std::size_t blocks = parts_of(cells, kThreads);
  if (blocks > 0x7fffffff) return cudaErrorInvalidValue;
  return launch(stream, static_cast<unsigned>(blocks), kThreads, copy_cells_kernel, job);
}

cudaError_t triad(const double* b, const double* c, double* a, std::size_t count,
                  cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const std::size_t blocks = parts_of(count, kThreads);
  if (blocks > 0x7fffffff) return cudaErrorInvalidValue;
  return launch(stream, static_cast<unsigned>(blocks), kThreads, triad_kernel, b, c, a, count);
}

}  // namespace tandem::gpu_kernels
