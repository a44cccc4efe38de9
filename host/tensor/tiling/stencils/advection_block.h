// SPDX-License-Identifier: Apache-2.0
//
// The vectorised loop of rk3 over a block: some planes times some rows, whole vectors of columns.
//
// A cell reads 24 neighbours. A block keeps the planes' and the rows' values in registers and uses
// each for several results, because loads are what limits this stencil. Every cell is computed with
// the same operations in the same order in any block, so results are bitwise equal for any tiling;
// see stencil_row.h. Threads: any, on different blocks. Source: 8th-order central differences,
// Fornberg, Math. Comp. 51(184), 1988.
#pragma once

#include <array>
#include <cstddef>

#include "tensor/tiling/stencils/stencil_slab.h"

namespace tandem::tiling {

constexpr std::int64_t kAdvectionRows = 2;  // rows of a block

// A stage of a Runge-Kutta method for u_t = -velocity . grad u with 8th-order differences:
// out = own * (u + sum over dimensions of courant * sum over distances 1 .. 4 of
//              derivative * (u[+] - u[-])) + of_base * base
struct AdvectionStage {
  std::array<double, 4> derivative{};  // [distance - 1]
  std::array<double, 3> courant{};     // [dimension], negative for a positive velocity
  double own = 1, of_base = 0;
};

// Rows first_row .. first_row + num_rows of the slab; num_rows at most kAdvectionRows.
void advection_block(const StencilSlab& slab, std::int64_t first_row, std::int64_t num_rows,
                     const AdvectionStage& stage);

}  // namespace tandem::tiling
