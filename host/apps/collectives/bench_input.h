// SPDX-License-Identifier: Apache-2.0
//
// A rank's gradient, as the options describe it.
#pragma once

#include "apps/collectives/bench_options.h"
#include "collectives/collective.h"

namespace tandem::apps {

// Deterministic in (options, rank, world). Throws Error naming the file that cannot be used.
collectives::SparseTensor make_input(const BenchOptions& options, int rank, int world);

}  // namespace tandem::apps
