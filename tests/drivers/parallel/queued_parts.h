// SPDX-License-Identifier: Apache-2.0
//
// QueuedDevice: a part that behaves as a GPU, around a CPU device: work is done in wait(), the host
// cannot access device memory, and the device may be lost at any operation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/error.h"
#include "drivers/parallel/cpu_parts.h"
#include "support/queued_attention_unit.h"
#include "support/queued_compute_unit.h"

namespace tandem::device::parallel {

class QueuedDevice final : public Device {
 public:
  explicit QueuedDevice(const test::QueuedUnitOptions& options = {}) : options_(options) {
    info_ = cpu_->info();
    info_.id = info_.kind = "queued";
    info_.link_bandwidth_bytes_per_s = 1e9;
  }

  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<ComputeUnit> make_compute_unit() override {
    auto unit = std::make_unique<test::QueuedComputeUnit>(*inner_, options_);
    compute_ = unit.get();
    return unit;
  }
  // Of the last compute unit made.
  std::unique_ptr<AttentionUnit> make_attention_unit(const AttentionUnitOptions& options) override {
    return std::make_unique<test::QueuedAttentionUnit>(*compute_,
                                                       cpu_->make_attention_unit(options));
  }
  const test::QueuedCounts& counts() const { return compute_->counts(); }

 private:
  const test::QueuedUnitOptions options_;
  std::unique_ptr<Device> cpu_ = std::move(cpu_devices(1).front());
  std::unique_ptr<ComputeUnit> inner_ = cpu_->make_compute_unit();
  test::QueuedComputeUnit* compute_ = nullptr;
  DeviceInfo info_;
};

// `lost`: the part that is lost after so many operations; -1: none.
inline std::vector<std::unique_ptr<Device>> queued_devices(int count, int lost = -1,
                                                           std::uint64_t lose_after = 0) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) {
    test::QueuedUnitOptions options;
    if (i == lost) options.lose_after = lose_after;
    devices.push_back(std::make_unique<QueuedDevice>(options));
  }
  return devices;
}

}  // namespace tandem::device::parallel
