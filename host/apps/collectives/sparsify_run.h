// SPDX-License-Identifier: Apache-2.0
//
// Runs one sparsifier on ranks that are threads, and measures it.
//
// Ranks select one after the other, so that each has all processors while it is timed. After a
// selection rank 0 reads its residual once; the time of this plain read is the reference for the
// selection. With a bandwidth, the ranks exchange over the simulated network, and its virtual time
// is reported, without local work. Errors: those of the sparsifier.
#pragma once

#include <cstdint>
#include <string>

#include "apps/collectives/sparsify_gradients.h"
#include "collectives/sparsifier/sparsifier.h"

namespace tandem::apps {

struct SparsifyRunOptions {
  int world = 4;
  std::uint64_t steps = 50;
  collectives::SparsifierOptions sparsifier;  // `turn` is set by the run
  double gbit_per_s = 0;                      // bandwidth of a rank's link; 0: no simulated network
  double latency_us = 20;
};

// Shares and ratios are means over the last quarter of the steps. Times are medians over all steps.
struct SparsifyMeasurement {
  std::string name;
  std::string clears;
  double density_sent = 0;  // entries that a rank sends / number of values
  double density_all = 0;   // the same over all steps
  double build_up = 0;
  double inefficiency = 0;
  double select_ms = 0;       // slowest rank of each step
  double select_mean_ms = 0;  // mean over all ranks
  double accumulate_ms = 0;   // slowest rank
  double plain_read_ms = 0;
  double of_plain_read = 0;  // plain_read_ms / select_ms: 1 means as fast as reading; 0: not timed
  double rest_ms = 0;        // rank 0: the rest of the step, without accumulating and selecting
  double update_ms = 0;      // rank 0: weights minus rate times the mean
  double residual_norm = 0;  // norm of rank 0's residual at the end
  // simulated: time of the exchange on the slowest rank, mean over the last quarter of the steps
  double exchange_ms = 0;
  double dense_ms = 0;  // simulated: the dense ring all-reduce of all values
};

SparsifyMeasurement measure_sparsifier(const std::string& name, const SparsifyGradients& gradients,
                                       const SparsifyRunOptions& options);

}  // namespace tandem::apps
