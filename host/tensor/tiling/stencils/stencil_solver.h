// SPDX-License-Identifier: Apache-2.0
//
// StencilSolver: a stencil on a cube of cells that ranks and threads share.
//
// run_step() sweeps tile by tile: ghost cells are asked for, tiles that need none are computed
// meanwhile, then the others. run_pass() makes several steps in one pass over memory
// (time_skew.h). Both leave the same bits, whatever tiles, boxes, ranks or threads there are.
// Memory: two fields, jacobi four, rk3 three. Values are written first by the thread that computes
// them. Ownership: borrows pool and courier. Threads: one caller a rank; all ranks make the same
// calls. Errors: Error for domains that cannot be cut or are smaller than what a pass reads.
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
  Point<3> tile{8, 8, 1 << 20};  // planes, rows, columns of a sweep; longer ones are cut off
  Schedule schedule = Schedule::kStatic;
  bool streams = true;  // sweeps write past the caches
  int pass_steps = 1;   // of run_pass(); 0: there are none
  Point<3> pass_tile{1 << 20, 32, 1 << 20};
};

class StencilSolver {
 public:
  // courier: null for one rank.
  StencilSolver(StencilKind kind, const StencilOptions& options, Courier* courier,
                ThreadPool& pool);

  const Stencil& stencil() const { return stencil_; }
  const Field<double, 3>& values() const { return fields_[0]; }

  // Back to the values before the first step.
  void reset();
  void run_step();
  void run_pass();  // pass_steps steps

  // Other tiles and stores from now on, for measurements.
  void set_sweep(const Point<3>& tile, bool streams);
  void set_pass_tile(const Point<3>& tile);

  // Of all ranks, on all ranks.
  std::uint64_t checksum() const;

 private:
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
  TileSchedule<3> sweep_, inner_, outer_, pass_;
  std::vector<RawVector<double>> scratch_;  // [threads] of run_pass()
};

}  // namespace tandem::tiling
