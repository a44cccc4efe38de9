// SPDX-License-Identifier: Apache-2.0
//
// measure_stencil: how fast sweeps and fused passes of a stencil are, against the triad's
// bandwidth.
//
// Steps of sweeps and passes over the triad's arrays alternate; the best time of each counts, as in
// STREAM. A time ends when the last rank has. Tiles that are not given are the fastest of some.
// Threads: one caller a rank; all ranks call. Errors: those of StencilSolver and of the courier;
// Error where memory does not suffice, or where sweeps and passes leave different bits.
#pragma once

#include <cstdint>

#include "apps/stencil/stencil_options.h"
#include "common/thread_pool.h"
#include "tensor/tiling/courier.h"

namespace tandem::apps {

// Of all ranks together.
struct StencilSpeed {
  tiling::Point<3> tile{};
  bool is_tuned = false, streams = false;
  double step_s = 0, gb_per_s = 0;
};

struct StencilResult {
  StencilSpeed sweep, pass;  // pass: steps == 0 where it is left out
  double triad_gb_per_s = 0;
  bool triad_streams = false;
  int steps = 0, pass_steps = 0;
  std::uint64_t checksum = 0;  // after `steps` steps
};

// courier: null for one rank.
StencilResult measure_stencil(const StencilCommandOptions& options, tiling::Courier* courier,
                              ThreadPool& pool);

}  // namespace tandem::apps
