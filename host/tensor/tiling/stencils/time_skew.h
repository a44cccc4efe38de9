// SPDX-License-Identifier: Apache-2.0
//
// skewed_tile: several levels of a stencil over one tile in a single pass over memory.
//
// A level is a stage of a step. Level t of a tile computes all cells that later levels need: the
// tile grown by radius * (levels - t). Planes pass through the levels as a wave: when level t - 1
// has plane p + radius, level t computes plane p (rk3: slabs of planes). Scratch has rings of
// planes for each level. Neighbouring tiles compute rows and columns at shared faces twice, so
// tiles do not wait for each other. Cells outside of the domain keep the values of the source.
// Threads: any, on different scratch and tiles. Source: Nguyen et al., "3.5-D Blocking Optimization
// for Stencil Computations", SC 2010.
#pragma once

#include "common/raw_vector.h"
#include "tensor/tiling/stencils/stencil.h"

namespace tandem::tiling {

struct SkewedPass {
  const Stencil* stencil = nullptr;
  int levels = 1;                           // rk3: at most stages(), because `base` is the source
  Box<3> writable;                          // cells outside keep the source's values
  FieldView<const double, 3> source;        // with radius * levels ghost cells
  FieldView<const double, 3> conductivity;  // jacobi: as many ghost cells
  FieldView<const double, 3> heat_source;
  FieldView<double, 3> target;  // not the source
  bool streams = false;
  bool wraps = false;  // the tile's rows are a whole period: columns have no ghost cells
};

// tile: of writable cells.
void skewed_tile(const SkewedPass& pass, const Box<3>& tile, RawVector<double>& scratch);

}  // namespace tandem::tiling
