// SPDX-License-Identifier: Apache-2.0
//
// One stage of a stencil over a box of cells with ghost cells around it. On a GPU a tile is a box.
//
// A block of threads takes 8 rows times 32 columns and goes up through 32 planes. It keeps the
// planes' values of its cells in registers and the current plane in shared memory, so each value of
// the source is loaded once for a column of cells, and again at the block's edges. Numerics: f64,
// the operations of host/tensor/tiling/stencils in their order with fused multiply-add, so results
// have the bits of a CPU with FMA. Bytes a cell: heat 16, jacobi 32, a stage of rk3 16 or 24.
// Graph-safe: no allocation, no waits.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tandem::gpu_kernels {

enum class BoxRule : std::uint8_t { kHeat, kJacobi, kAdvection };

constexpr int box_radius(BoxRule rule) { return rule == BoxRule::kAdvection ? 4 : 1; }

struct BoxFactors {
  double rate = 0;                      // heat
  double derivative[4] = {0, 0, 0, 0};  // advection, by distance
  double courant[3] = {0, 0, 0};        // advection, by dimension
  double own = 1;                       // of the cell itself; heat: 1 - 6 rate
  double of_base = 0;                   // advection
};

// Pointers are at the box's first cell, which is no ghost cell; all arrays have the same strides,
// in values. `out` may be `base`, but not `source`.
struct BoxStep {
  const double* source = nullptr;
  const double* conductivity = nullptr;  // jacobi
  const double* heat_source = nullptr;   // jacobi
  const double* base = nullptr;          // advection; null: there is none
  double* out = nullptr;
  std::int64_t plane_stride = 0, row_stride = 0;
  std::uint32_t planes = 0, rows = 0, columns = 0;
  BoxFactors factors;
};

// Copies a box of cells, such as ghost cells from the box that owns them. Strides in values.
struct CellCopy {
  const double* from = nullptr;
  double* to = nullptr;
  std::int64_t from_plane_stride = 0, from_row_stride = 0, to_plane_stride = 0, to_row_stride = 0;
  std::uint32_t planes = 0, rows = 0, columns = 0;
};

// One launch each. cudaErrorInvalidValue for a box that needs more blocks than a grid has.
cudaError_t step_box(const BoxStep& job, BoxRule rule, cudaStream_t stream);
cudaError_t copy_cells(const CellCopy& job, cudaStream_t stream);
// a = b + 3 c: the bandwidth with which steps are compared.
cudaError_t triad(const double* b, const double* c, double* a, std::size_t count,
                  cudaStream_t stream);

}  // namespace tandem::gpu_kernels
