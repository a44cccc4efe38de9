// SPDX-License-Identifier: Apache-2.0
//
// StencilSolver: runs a stencil on a cube of cells that is divided among ranks and threads.
//
// run_step() sweeps tile by tile: it requests ghost cells, computes the tiles that need none, then
// the others. run_pass() makes several steps in one pass over memory (time_skew.h). Both give the
// same bits for any tiles, boxes, ranks and threads. Memory: two fields, jacobi four, rk3 three.
// The thread that computes a value also touches it first. Ownership: borrows pool and courier.
// Threads: one caller per rank; all ranks make the same calls. Errors: Error for domains that
// cannot be cut or are smaller than the reads of a pass.
#pragma once

#include <memory>
#include <vector>

#include "common/thread_pool.h"
#include "tensor/tiling/copy_plan.h"
#include "tensor/tiling/courier.h"
#include "tensor/tiling/field.h"
#include "tensor/tiling/stencils/stencil.h"
#include "tensor/tiling/tile_schedule.h"

namespace tandem::tiling {

struct StencilOptions {
  std::int64_t cells = 256;  // in each dimension
  std::int64_t boxes_per_rank = 1;
  Point<3> tile{8, 8, 1 << 20};  // planes, rows, columns of a sweep; larger extents are clipped
  Schedule schedule = Schedule::kStatic;
  bool streams = true;  // sweeps use non-temporal stores
  int pass_steps = 1;   // steps of run_pass(); 0: run_pass() is not used
  Point<3> pass_tile{1 << 20, 32, 1 << 20};
};

// The boxes of `ranks` ranks and their owners.
std::shared_ptr<const Layout<3>> stencil_layout(const Stencil& stencil,
                                                const StencilOptions& options, int ranks);

class StencilSolver {
 public:
  // courier: null for one rank.
  StencilSolver(StencilKind kind, const StencilOptions& options, Courier* courier,
                ThreadPool& pool);

  const Stencil& stencil() const { return stencil_; }
  const Field<double, 3>& values() const { return fields_[0]; }

  // Restores the values before the first step.
  void reset();
  void run_step();
  void run_pass();  // pass_steps steps

  // Sets tiles and stores for the next sweeps, for measurements.
  void set_sweep(const Point<3>& tile, bool streams);
  void set_pass_tile(const Point<3>& tile);

  // The checksum over all ranks; every rank gets it.
  std::uint64_t checksum() const;

 private:
  bool tiles_wrap(const Point<3>& tile) const;
  void fill(Field<double, 3>& field, double (*inside)(const Point<3>&), double outside);
  void sweep_tile(int stage, Field<double, 3>& source, Field<double, 3>& target,
                  const LocalTile<3>& tile);

  Stencil stencil_;
  StencilOptions options_;
  Courier* courier_;
  ThreadPool& pool_;
  std::shared_ptr<const Layout<3>> layout_;
  std::vector<Field<double, 3>> fields_;        // [2], rk3 [3]: the first has the values
  std::vector<Field<double, 3>> coefficients_;  // jacobi: conductivity and source
  CopyPlan<3> step_ghosts_, pass_ghosts_;
  // The same for tiles whose rows are a whole period: without ghost cells of columns.
  CopyPlan<3> step_faces_, pass_faces_;
  bool sweep_wraps_ = false, pass_wraps_ = false;
  TileSchedule<3> sweep_, inner_, outer_, pass_;
  std::vector<RawVector<double>> scratch_;  // [threads] of run_pass()
};

}  // namespace tandem::tiling
