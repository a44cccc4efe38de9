// SPDX-License-Identifier: Apache-2.0
//
// The CPU as aggregator: merge(), timed.
#include <chrono>

#include "collectives/aggregator/aggregator.h"

namespace tandem::collectives {
namespace {

class CpuAggregator final : public Aggregator {
 public:
  std::string_view name() const override { return "cpu"; }

  SparseVector aggregate(std::span<const SparseVector> parts, Reduction reduction,
                         Deadline) override {
    const auto start = std::chrono::steady_clock::now();
    SparseVector out = merge(parts, reduction);
    statistics_.measured_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ++statistics_.num_aggregations;
    for (const SparseVector& part : parts) statistics_.num_entries_in += part.num_entries();
    statistics_.num_entries_out += out.num_entries();
    return out;
  }

  AggregatorStatistics statistics() const override { return statistics_; }

 private:
  AggregatorStatistics statistics_;
};

}  // namespace

std::unique_ptr<Aggregator> make_cpu_aggregator() { return std::make_unique<CpuAggregator>(); }

}  // namespace tandem::collectives
