// SPDX-License-Identifier: Apache-2.0
//
// The vectorised loops of heat and jacobi over a slab of two planes, two rows of both at a time.
//
// Four cells beside each other share what lies between them: a value is loaded, and the face of two
// cells computed, once for all of them. Each cell takes the operations of stencil_row.h in their
// order, so both have the same bits. Plain arguments. Threads: any, on different slabs.
#pragma once

#include "tensor/tiling/stencils/stencil_slab.h"

namespace tandem::tiling {

constexpr std::size_t kSevenPointPlanes = 2;
constexpr std::int64_t kSevenPointRows = 2;

// Computes as many of the slab's first rows as are pairs and returns their number; 0 for a slab of
// another number of planes, and where streamed rows do not begin at a vector's bound.
std::int64_t heat_blocks(const StencilSlab& slab, double rate, double own);
std::int64_t jacobi_blocks(const StencilSlab& slab);

}  // namespace tandem::tiling
