// SPDX-License-Identifier: Apache-2.0
//
// LostUnit: keeps the place and the counters of an attention unit that was lost and given away to
// be probed. It holds no pages and does no work. Threads: any.
#pragma once

#include "device/attention_unit.h"

namespace tandem::engine {

class LostUnit final : public device::AttentionUnit {
 public:
  explicit LostUnit(const device::AttentionUnit& lost)
      : geometry_(lost.geometry()), capacity_(lost.capacity()), stats_(lost.stats()) {}

  const device::AttentionGeometry& geometry() const override { return geometry_; }
  device::AttentionCapacity capacity() const override { return capacity_; }
  device::Ticket submit(const device::AttentionBatch&, device::AttentionPartial) override {
    return 1;
  }
  device::WaitResult wait(device::Ticket, Deadline) override { return device::WaitResult::kLost; }
  device::WaitResult export_page(device::PageId, std::span<std::byte>, Deadline) override {
    return device::WaitResult::kLost;
  }
  device::WaitResult import_page(device::PageId, std::span<const std::byte>, Deadline) override {
    return device::WaitResult::kLost;
  }
  bool is_alive() override { return false; }
  device::AttentionStats stats() const override { return stats_; }

 private:
  const device::AttentionGeometry geometry_;
  const device::AttentionCapacity capacity_;
  const device::AttentionStats stats_;
};

}  // namespace tandem::engine
