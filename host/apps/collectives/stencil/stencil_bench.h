// SPDX-License-Identifier: Apache-2.0
//
// measure_stencil: measures sweeps and fused passes of a stencil, against the bandwidth of the
// triad.
//
// Steps of sweeps, passes and the triad alternate; the best time of each counts, as in STREAM. A
// time ends when the last rank is done. If tiles are not given, several are tried and the fastest
// is used. Threads: one caller per rank; all ranks call. Errors: those of StencilSolver and of the
// courier; Error if the memory does not suffice, or if sweeps and passes give different bits.
#pragma once

#include <cstdint>

#include "apps/collectives/stencil/stencil_options.h"
#include "common/thread_pool.h"
#include "tensor/tiling/courier.h"

namespace tandem::apps {

// Figures of all ranks together.
struct StencilSpeed {
  tiling::Point<3> tile{};
  bool is_tuned = false, streams = false;
  double step_s = 0, gb_per_s = 0;
};

struct StencilResult {
  StencilSpeed sweep, pass;  // pass: steps == 0 if passes are not measured
  double triad_gb_per_s = 0, copy_gb_per_s = 0;
  bool triad_streams = false;
  int steps = 0, pass_steps = 0;
  std::uint64_t checksum = 0;  // after `steps` steps
};

// The same for --device: sweeps alone, because a device has no fused passes. Error if the options
// ask for what a device has not, and where there is no such device.
StencilResult measure_on_device(const StencilCommandOptions& options, ThreadPool& pool);

// courier: null for one rank.
StencilResult measure_stencil(const StencilCommandOptions& options, tiling::Courier* courier,
                              ThreadPool& pool);

}  // namespace tandem::apps
