// SPDX-License-Identifier: Apache-2.0
//
// WatchedAggregator: a borrowed aggregator during one call, with the CPU as fallback.
//
// On a DeviceError merge() does the work, and the fallback is counted, so the report shows that the
// device was not used. Statistics count from the construction; the CPU's part is in the fallbacks.
// Threads: one. Cost: none beyond the aggregator's.
#pragma once

#include "collectives/aggregator/aggregator.h"

namespace tandem::collectives {

class WatchedAggregator final : public Aggregator {
 public:
  explicit WatchedAggregator(Aggregator& watched)
      : watched_(watched), before_(watched.statistics()) {}

  std::string_view name() const override { return watched_.name(); }
  SparseVector aggregate(std::span<const SparseVector> parts, Reduction reduction,
                         Deadline deadline) override;
  AggregatorStatistics statistics() const override;

 private:
  Aggregator& watched_;
  AggregatorStatistics before_;
  std::uint64_t num_failures_ = 0;
};

}  // namespace tandem::collectives
