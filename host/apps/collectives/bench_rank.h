// SPDX-License-Identifier: Apache-2.0
//
// One rank of `tandem allreduce-bench`: makes its gradient, calls every scheme, and gathers the
// samples of all ranks.
//
// Collective: every rank calls it; every rank returns the same result. A scheme's first result is
// verified against reference_reduction() before it is timed (floats: within 1e-4 of the largest
// magnitude, 2e-2 with 16-bit types; u64: equal). Errors: Error when a result is wrong or no scheme
// can run.
#pragma once

#include "apps/collectives/bench_report.h"
#include "collectives/collective.h"

namespace tandem::apps {

BenchResult run_bench(collectives::Group& group, const BenchOptions& options);

}  // namespace tandem::apps
