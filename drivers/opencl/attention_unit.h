// SPDX-License-Identifier: Apache-2.0
//
// OpenClAttentionUnit: KV pages in buffers of an OpenCL device; attention by kernels/attention.cl.
//
// A batch is one write, up to four kernels (append, attend for single tokens and for chunks, merge)
// and one read, on an in-order queue. submit() returns at once while fewer than kMaxInFlight
// batches are in flight; wait() or a later submit() copies their results to the caller. Threads:
// one submitting thread; capacity() and stats() from any. Errors: if any command fails, the unit is
// lost.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "device/device.h"
#include "opencl/attention_program.h"
#include "opencl/bandwidth.h"
#include "opencl/batch_slot.h"

namespace tandem::opencl {

class OpenClAttentionUnit final : public device::AttentionUnit {
 public:
  static constexpr std::size_t kMaxInFlight = 16;

  OpenClAttentionUnit(Session session, const device::AttentionUnitOptions& options,
                      const KernelShape& shape, const MeasuredSpeed& speed);
  // Waits one second for commands in flight. Memory that a hung device may still use is kept until
  // the process ends.
  ~OpenClAttentionUnit() override;

  const device::AttentionGeometry& geometry() const override { return geometry_; }
  device::AttentionCapacity capacity() const override { return capacity_; }
  device::Ticket submit(const device::AttentionBatch& batch, device::AttentionPartial out) override;
  device::WaitResult wait(device::Ticket ticket, Deadline deadline) override;
  // After a timeout the transfer still takes effect later. The page is undefined until another
  // transfer of that page ends.
  device::WaitResult export_page(device::PageId page, std::span<std::byte> to,
                                 Deadline deadline) override;
  device::WaitResult import_page(device::PageId page, std::span<const std::byte> from,
                                 Deadline deadline) override;
  device::AttentionStats stats() const override;

 private:
  // Host memory of a page transfer, kept until the device is done with it.
  struct Transfer {
    std::vector<std::byte> layers;  // [num_layers, layout_.page_bytes]
    std::vector<cl::Event> done;    // [num_layers]
  };

  // Memory that commands in flight may use. It is never freed after the device has hung.
  struct Abandoned;

  bool all_ended(Deadline deadline) const;
  void abandon();
  void size_pool(const device::AttentionUnitOptions& options);
  void allocate_pool();
  void check_rows(const BatchPlan& plan) const;
  void check_page(device::PageId page, std::size_t image_bytes) const;
  BatchSlot& free_slot();
  void enqueue(int layer, BatchSlot& slot);
  void enqueue_attend(AttendKernel& attend, int layer, BatchSlot& slot,
                      const std::vector<PartEntry>& parts, int first_part);
  void reserve_scratch(std::int32_t slots);
  device::WaitResult finish_oldest(Deadline deadline);
  void complete(BatchSlot& slot);
  Transfer& new_transfer();
  device::WaitResult finish_transfer(const Transfer& transfer, Deadline deadline);
  std::uint32_t scratch_lse_at() const;  // index of the word of the scratch buffer where LSE begins
  std::size_t page_offset(device::PageId page) const { return page * layout_.page_bytes; }

  Session session_;
  device::AttentionGeometry geometry_;
  KernelShape shape_;
  PageLayout layout_;
  AttentionProgram program_;
  device::AttentionCapacity capacity_;
  int max_batch_rows_ = 0;
  PlanLimits limits_;
  // [num_layers]: a buffer per layer, so the pool may be larger than the largest allocation. If one
  // layer would exceed that limit, there are fewer pages.
  std::vector<cl::Buffer> pool_;
  cl::Buffer scratch_;
  std::int32_t scratch_slots_ = 0;

  std::vector<std::unique_ptr<BatchSlot>> slots_;
  std::deque<BatchSlot*> in_flight_;  // in the order of their tickets
  std::deque<Transfer> transfers_;
  device::Ticket last_ticket_ = 0;
  bool lost_ = false;
  std::chrono::steady_clock::time_point last_completion_;

  mutable std::mutex stats_mutex_;
  device::AttentionStats stats_;
};

}  // namespace tandem::opencl
