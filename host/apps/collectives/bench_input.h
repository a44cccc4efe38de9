// SPDX-License-Identifier: Apache-2.0
//
// make_input: makes a rank's gradient from the options of `tandem allreduce-bench`.
#pragma once

#include "apps/collectives/bench_options.h"
#include "collectives/collective.h"

namespace tandem::apps {

// Equal arguments give an equal tensor. Throws Error with the name of a file that cannot be used.
collectives::SparseTensor make_input(const BenchOptions& options, int rank, int world);

}  // namespace tandem::apps
