// SPDX-License-Identifier: Apache-2.0
//
// ParallelDevice: several devices as one, for layers also of several kinds (contract:
// device/device.h).
//
// Its compute unit divides every model that it loads, by layers or by columns; its attention unit
// keeps KV on the device of the layers or heads. `kv_bytes` and `kept_bytes` of an attention unit
// are totals: each part gets its share, and a quarter more of `kept_bytes` for memory that is not
// divided. Every part has as many pages as the smallest. Ownership: owns the parts. Threads: units
// are made from one. Errors: Error naming the numbers where layers, heads or kinds do not fit.
#pragma once

#include <memory>
#include <vector>

#include "device/registry.h"
#include "parallel/layer_ranges.h"
#include "parallel/unit_group.h"

namespace tandem::device::parallel {

using Split = GroupSplit;
using ParallelOptions = GroupOptions;

class ParallelDevice final : public Device {
 public:
  ParallelDevice(std::vector<std::unique_ptr<Device>> devices, const ParallelOptions& options);

  const DeviceInfo& info() const override;
  std::unique_ptr<ComputeUnit> make_compute_unit() override;
  std::unique_ptr<AttentionUnit> make_attention_unit(const AttentionUnitOptions& options) override;

 private:
  std::unique_ptr<AttentionUnit> make_part(std::size_t index, const AttentionUnitOptions& options,
                                           std::uint32_t max_pages);

  std::vector<std::unique_ptr<Device>> devices_;
  const Split split_;
  const LayerRanges layers_;
  std::shared_ptr<AddressBook> book_;  // of the compute unit that was made last
  mutable DeviceInfo info_;            // made at the first request
};

}  // namespace tandem::device::parallel
