// SPDX-License-Identifier: Apache-2.0
//
// One rank of `tandem allreduce-bench`: makes its gradient, calls every scheme, and gathers the
// samples of all ranks.
//
// Collective: every rank calls it, and every rank returns the same result. The first result of a
// scheme is compared with reference_reduction() before the scheme is timed. Floats must agree
// within 1e-4 of the largest magnitude (2e-2 for 16-bit types), u64 values exactly. Errors: Error
// if a result is wrong or no scheme can run.
#pragma once

#include "apps/collectives/bench_report.h"
#include "collectives/collective.h"

namespace tandem::apps {

BenchResult run_bench(collectives::Group& group, const BenchOptions& options);

}  // namespace tandem::apps
