// SPDX-License-Identifier: Apache-2.0
//
// ParallelDevice: several devices of one kind as one (contract: device/device.h).
//
// Its compute unit divides every model that is loaded into it, by layers or by columns; its
// attention unit keeps KV where the layers or heads are. `kv_bytes` and `kept_bytes` of an
// attention unit are for all parts together: each gets its share, of the latter and a quarter more,
// for what is not divided. Every part holds as many pages as the smallest. Ownership: owns the
// parts. Threads: making units from one thread. Errors: Error naming the numbers where
// layers, heads or kinds do not fit.
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
  std::shared_ptr<AddressBook> book_;  // of the compute unit made last
  mutable DeviceInfo info_;            // made when it is first asked for
};

}  // namespace tandem::device::parallel
