// SPDX-License-Identifier: Apache-2.0
//
// QueuedAttentionUnit: an attention unit of the device of a QueuedComputeUnit, around the CPU's:
// its batches stand in that unit's queue, on rows in that unit's device buffers.
//
// Lists of a batch are copied by submit(). Once the device is lost, so is the unit.
#pragma once

#include <memory>

#include "device/attention_unit.h"
#include "support/queued_compute_unit.h"

namespace tandem::test {

class QueuedAttentionUnit final : public device::AttentionUnit {
 public:
  QueuedAttentionUnit(QueuedComputeUnit& compute, std::unique_ptr<device::AttentionUnit> inner)
      : compute_(compute), inner_(std::move(inner)) {}

  const device::AttentionGeometry& geometry() const override { return inner_->geometry(); }
  device::AttentionCapacity capacity() const override;
  device::Ticket submit(const device::AttentionBatch& batch, device::AttentionPartial out) override;
  bool works_in_queue_of(const device::ComputeUnit& compute) const override {
    return &compute == &compute_;
  }
  device::WaitResult wait(device::Ticket ticket, Deadline deadline) override;
  device::WaitResult export_page(device::PageId page, std::span<std::byte> to,
                                 Deadline deadline) override;
  device::WaitResult import_page(device::PageId page, std::span<const std::byte> from,
                                 Deadline deadline) override;
  device::AttentionStats stats() const override { return inner_->stats(); }

 private:
  std::span<float> memory(std::span<const float> of_device) const;

  QueuedComputeUnit& compute_;
  const std::unique_ptr<device::AttentionUnit> inner_;
};

}  // namespace tandem::test
