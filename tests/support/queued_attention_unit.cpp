// SPDX-License-Identifier: Apache-2.0
//
// QueuedAttentionUnit: addresses of the device become memory when the work is done.
#include "support/queued_attention_unit.h"

#include <vector>

#include "common/error.h"

namespace tandem::test {

using device::WaitResult;

device::AttentionCapacity QueuedAttentionUnit::capacity() const {
  device::AttentionCapacity capacity = inner_->capacity();
  capacity.link_bandwidth_bytes_per_s = 1e9;
  return capacity;
}

std::span<float> QueuedAttentionUnit::memory(std::span<const float> of_device) const {
  if (of_device.empty()) return {};
  return {reinterpret_cast<float*>(compute_.memory_at(of_device.data(), of_device.size_bytes())),
          of_device.size()};
}

device::Ticket QueuedAttentionUnit::submit(const device::AttentionBatch& batch,
                                           device::AttentionPartial out) {
  device::AttentionBatch own = batch;
  own.q = memory(batch.q);
  own.k = memory(batch.k);
  own.v = memory(batch.v);
  const device::AttentionPartial to = {memory(out.o), memory(out.lse)};
  device::check_batch(geometry(), inner_->capacity().num_pages, own, to);
  compute_.push([this, own, to,
                 sequences = std::vector(batch.sequences.begin(), batch.sequences.end()),
                 pages = std::vector(batch.pages.begin(), batch.pages.end())]() mutable {
    own.sequences = sequences;
    own.pages = pages;
    inner_->wait(inner_->submit(own, to), Deadline::never());
  });
  return compute_.record();
}

WaitResult QueuedAttentionUnit::wait(device::Ticket ticket, Deadline) {
  if (ticket == 0 || ticket > compute_.last_ticket()) throw Error("test", "no such ticket");
  return compute_.drive(ticket) ? WaitResult::kDone : WaitResult::kLost;
}

WaitResult QueuedAttentionUnit::export_page(device::PageId page, std::span<std::byte> to,
                                            Deadline deadline) {
  if (!compute_.drive(compute_.record())) return WaitResult::kLost;
  return inner_->export_page(page, to, deadline);
}

WaitResult QueuedAttentionUnit::import_page(device::PageId page, std::span<const std::byte> from,
                                            Deadline deadline) {
  if (!compute_.drive(compute_.record())) return WaitResult::kLost;
  return inner_->import_page(page, from, deadline);
}

}  // namespace tandem::test
