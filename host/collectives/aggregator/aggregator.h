// SPDX-License-Identifier: Apache-2.0
//
// Aggregator: adds up the parts that the ranks sent to one owner, on the CPU, a GPU or a card.
//
// Schemes with owners (balanced parallelism and others) use it once per call. All aggregators give
// the bits of merge() (rank order), so ranks of a group may use different ones. Threads: one call
// at a time. Errors: DeviceError: nothing was aggregated; the caller may repeat it on another
// aggregator. The schemes use the CPU then and say so in the report.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "collectives/frames/vocabulary.h"
#include "common/deadline.h"
#include "device/aggregation_unit.h"
#include "tensor/sparse/merge.h"

namespace tandem::collectives {

struct AggregatorStatistics {
  std::uint64_t num_aggregations = 0;
  std::uint64_t num_entries_in = 0;
  std::uint64_t num_entries_out = 0;
  std::uint64_t num_fallbacks = 0;  // done by the CPU because the device refused or failed
  double modelled_seconds = 0;      // a device's model of its own time; 0 without a model
  double measured_seconds = 0;
};

class Aggregator {
 public:
  virtual ~Aggregator() = default;
  virtual std::string_view name() const = 0;
  virtual SparseVector aggregate(std::span<const SparseVector> parts, Reduction reduction,
                                 Deadline deadline) = 0;
  virtual AggregatorStatistics statistics() const = 0;
};

std::unique_ptr<Aggregator> make_cpu_aggregator();

// Owns `unit`. The CPU does the calls that the unit refuses or in which it fails.
std::unique_ptr<Aggregator> make_device_aggregator(std::unique_ptr<device::AggregationUnit> unit);

}  // namespace tandem::collectives
