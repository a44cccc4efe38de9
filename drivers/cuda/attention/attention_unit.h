// SPDX-License-Identifier: Apache-2.0
//
// CudaAttentionUnit: KV pages in a GPU's memory, and attention there (contract:
// device/attention_unit.h).
//
// submit() appends launches to the GPU's queue, which all compute units of that GPU share and
// flush. Rows and results in device or pinned memory of the GPU are used in place. Other rows are
// staged through pinned memory (staged_rows.h): one copy in and one out per batch, flushed at once.
// Page images pass through pinned memory. Memory: the pool, sized by memory_plan.h; scratch of the
// queue; staging slots, allocated at first use. Threads: the GPU's submitting thread; capacity()
// and stats() from any. Failure: kLost once the GPU is lost; Error for arguments and for memory.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/attention/attention_plan.h"
#include "cuda/attention/staged_rows.h"
#include "cuda/gpu/gpu.h"
#include "device/device.h"

namespace tandem::cuda {

class CudaAttentionUnit final : public device::AttentionUnit {
 public:
  CudaAttentionUnit(Gpu& gpu, const device::DeviceInfo& info,
                    const device::AttentionUnitOptions& options);
  ~CudaAttentionUnit() override;

  const device::AttentionGeometry& geometry() const override { return geometry_; }
  device::AttentionCapacity capacity() const override { return capacity_; }
  device::Ticket submit(const device::AttentionBatch& batch, device::AttentionPartial out) override;
  bool works_in_queue_of(const device::ComputeUnit& compute) const override;
  bool may_have_own_thread() const override { return false; }
  device::WaitResult wait(device::Ticket ticket, Deadline deadline) override;
  device::WaitResult export_page(device::PageId page, std::span<std::byte> to,
                                 Deadline deadline) override;
  device::WaitResult import_page(device::PageId page, std::span<const std::byte> from,
                                 Deadline deadline) override;
  device::AttentionStats stats() const override;

 private:
  struct InFlight {
    device::Ticket ticket = 0;
    std::uint64_t position = 0;
    StagedRows* staged = nullptr;  // the slot of staged rows; null: the rows were used in place
    Deadline::Clock::time_point submitted;
  };
  // A batch that the GPU refused.
  struct Refused {
    device::Ticket ticket = 0;
    std::string reason;
    bool told = false;
  };
  // A page that is copied through pinned memory.
  struct Transfer {
    PoolRange image;
    std::uint64_t position = 0;
  };

  void make_pool(const device::AttentionUnitOptions& options);
  void enqueue(const device::AttentionBatch& batch, const device::AttentionPartial& out,
               InFlight& flight);
  bool is_reachable(std::span<const float> rows) const;
  StagedRows& free_rows(Deadline deadline);
  device::WaitResult finish_oldest(Deadline deadline);
  void tell_refusals(device::Ticket ticket);
  void check_page(device::PageId page, std::size_t image_bytes) const;
  Transfer& free_transfer();
  template <auto kMove>
  device::WaitResult move(device::PageId page, Transfer& transfer, Deadline deadline);

  Gpu& gpu_;
  Queue& queue_;
  const device::AttentionGeometry geometry_;
  const int max_batch_rows_;
  device::AttentionCapacity capacity_;
  gpu_kernels::KvPool pool_;
  PoolRange values_, scales_;
  std::unique_ptr<AttentionPlanner> planner_;
  device::Ticket last_ticket_ = 0;
  std::deque<InFlight> in_flight_;
  std::deque<Refused> refused_;  // the last ones
  std::vector<std::unique_ptr<StagedRows>> rows_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  Deadline::Clock::time_point last_completion_{};
  mutable std::mutex stats_mutex_;
  device::AttentionStats stats_;
};

}  // namespace tandem::cuda
