// SPDX-License-Identifier: Apache-2.0
//
// Differences of the borrowed aggregator's counters; on a failure the CPU takes over.
#include "collectives/aggregator/watched.h"

#include "common/error.h"

namespace tandem::collectives {

SparseVector WatchedAggregator::aggregate(std::span<const SparseVector> parts, Reduction reduction,
                                          Deadline deadline) {
  try {
    return watched_.aggregate(parts, reduction, deadline);
  } catch (const DeviceError&) {
    ++num_failures_;
    return merge(parts, reduction);
  }
}

AggregatorStatistics WatchedAggregator::statistics() const {
  AggregatorStatistics since = watched_.statistics();
  since.num_aggregations -= before_.num_aggregations;
  since.num_entries_in -= before_.num_entries_in;
  since.num_entries_out -= before_.num_entries_out;
  since.num_fallbacks += num_failures_ - before_.num_fallbacks;
  since.modelled_seconds -= before_.modelled_seconds;
  since.measured_seconds -= before_.measured_seconds;
  return since;
}

}  // namespace tandem::collectives
