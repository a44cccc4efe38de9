// SPDX-License-Identifier: Apache-2.0
//
// HookedAttentionUnit: an attention unit in front of another, for what a test does around a call:
// throw, or count.
//
// on_wait is called behind the inner wait(), so that nothing is in flight when it throws; the other
// hooks before the inner call, which then does not happen. Threads: as the
// contract says, hooks in the caller's. Ownership: owns the inner unit.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "device/attention_unit.h"

namespace tandem::test {

struct UnitHooks {
  std::function<void()> on_wait, on_submit, on_export, on_import;
  std::function<bool()> is_alive;
};

class HookedAttentionUnit final : public device::AttentionUnit {
 public:
  HookedAttentionUnit(std::unique_ptr<device::AttentionUnit> inner, UnitHooks hooks)
      : inner_(std::move(inner)), hooks_(std::move(hooks)) {}

  const device::AttentionGeometry& geometry() const override { return inner_->geometry(); }
  device::AttentionCapacity capacity() const override { return inner_->capacity(); }
  device::Ticket submit(const device::AttentionBatch& batch,
                        device::AttentionPartial out) override {
    if (hooks_.on_submit) hooks_.on_submit();
    return inner_->submit(batch, out);
  }
  device::WaitResult wait(device::Ticket ticket, Deadline deadline) override {
    const device::WaitResult result = inner_->wait(ticket, deadline);
    if (hooks_.on_wait) hooks_.on_wait();
    return result;
  }
  device::WaitResult export_page(device::PageId page, std::span<std::byte> to,
                                 Deadline deadline) override {
    if (hooks_.on_export) hooks_.on_export();
    return inner_->export_page(page, to, deadline);
  }
  device::WaitResult import_page(device::PageId page, std::span<const std::byte> from,
                                 Deadline deadline) override {
    if (hooks_.on_import) hooks_.on_import();
    return inner_->import_page(page, from, deadline);
  }
  bool is_alive() override { return hooks_.is_alive ? hooks_.is_alive() : inner_->is_alive(); }
  device::AttentionStats stats() const override { return inner_->stats(); }

 private:
  const std::unique_ptr<device::AttentionUnit> inner_;
  const UnitHooks hooks_;
};

}  // namespace tandem::test
