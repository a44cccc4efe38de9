// SPDX-License-Identifier: Apache-2.0
//
// XrtAggregationUnit: adds sparse vectors on the compute units of a PCIe FPGA card.
//
// Units share an aggregation by ranges of positions (aggregation_plan.h). One aggregate() is one
// transfer to every used unit, one run, and usually one transfer back; buffers are kept and grow.
// modelled_seconds is the time of a real card, not of the emulated one: the transfers over its link
// one after the other, plus the slowest unit by the kernel's cycle model. Errors: DeviceError, and
// the unit is lost permanently, if XRT throws in a command or transfer, a command fails, a result
// does not match its descriptor, or the deadline passes. DeviceError without loss if memory is
// missing before the first command. Error, before any change, for positions that are not ascending
// or not below the partition's end. Threads: one.
#pragma once

#include <memory>
#include <string>

#include "device/aggregation_unit.h"
#include "device/device.h"
#include "xrt/aggregation/aggregation_launch.h"
#include "xrt/aggregation/aggregation_plan.h"
#include "xrt/card/abandoned.h"

namespace tandem::device::xrt_card {

class XrtAggregationUnit final : public AggregationUnit {
 public:
  // Runs the kernel a few times to check its version and to measure latency.
  XrtAggregationUnit(const xrt::device& device, std::vector<KernelUnit> units,
                     const DeviceInfo& info);

  std::string name() const override { return name_; }
  AggregationCapacity capacity() const override { return capacity_; }
  std::string refusal(const AggregationShape& shape) const override;
  AggregationResult aggregate(const AggregationShape& shape,
                              std::span<const AggregationSource> sources,
                              Deadline deadline) override;

 private:
  // The header of the result of each unit of the plan.
  struct Answer {
    sparse_aggregation::ResultHeader header{};
    const std::byte* result = nullptr;
    std::size_t num_transfers = 0;
    std::size_t num_bytes = 0;
  };

  AggregationResult aggregate_valid(const AggregationShape& shape,
                                    std::span<const AggregationSource> sources, Deadline deadline);
  std::vector<Answer> run(std::vector<AggregationUnitPlan>& units,
                          std::span<const AggregationSource> sources, Deadline deadline);
  Answer fetch(std::size_t index, const AggregationUnitPlan& unit);
  AggregationResult assemble(const std::vector<AggregationUnitPlan>& units,
                             const std::vector<Answer>& answers);
  double modelled_seconds(const std::vector<AggregationUnitPlan>& units,
                          const std::vector<Answer>& answers) const;
  void reserve(const std::vector<AggregationUnitPlan>& units);
  void measure();
  [[noreturn]] void lose(const std::string& reason);

  std::string name_;
  CardTiming timing_;
  DrainedBuffers card_;  // its destructor also runs if the constructor throws
  AggregationLaunch* launch_ = nullptr;
  AggregationCapacity capacity_;
  RawVector<std::uint32_t> positions_;
  RawVector<std::byte> values_;
  std::uint32_t next_tag_ = 1;
  bool lost_ = false;
  std::string lost_reason_;
};

}  // namespace tandem::device::xrt_card
