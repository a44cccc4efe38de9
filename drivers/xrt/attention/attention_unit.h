// SPDX-License-Identifier: Apache-2.0
//
// XrtAttentionUnit: KV pages in the memory of a PCIe FPGA card, attended to by its compute units.
//
// One submit() is one descriptor to the card, one run of every compute unit, and one result back
// from each; several may be in flight. Pools hold all layers and never leave the card but by
// export_page(). Batches take effect in submission order, since each compute unit runs its commands
// in the order of their start. Errors: anything XRT throws, a command that ends in an error state,
// or a result that does not answer its descriptor loses the unit for ever (kLost); nothing throws
// after that, and nothing blocks. Threads: one submitting thread; capacity() and stats() from any.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/device.h"
#include "xrt/attention/descriptor.h"
#include "xrt/attention/kernel_image.h"
#include "xrt/attention/kernel_layout.h"
#include "xrt/attention/launch.h"
#include "xrt/card/abandoned.h"

namespace tandem::device::xrt_card {

// Throws Error on a geometry that a card does not store.
void check_stored(const AttentionGeometry& geometry);

class XrtAttentionUnit final : public AttentionUnit {
 public:
  // `info`: of the card; its link's bandwidth is 0 where unknown. Runs the kernel a few times to
  // check its version and to measure latency and read bandwidth.
  XrtAttentionUnit(const xrt::device& device, std::vector<ComputeUnitHandle> handles,
                   const AttentionUnitOptions& options, const DeviceInfo& info);

  const AttentionGeometry& geometry() const override { return geometry_; }
  AttentionCapacity capacity() const override { return capacity_; }
  Ticket submit(const AttentionBatch& batch, AttentionPartial out) override;
  WaitResult wait(Ticket ticket, Deadline deadline) override;
  WaitResult export_page(PageId page, std::span<std::byte> to, Deadline deadline) override;
  WaitResult import_page(PageId page, std::span<const std::byte> from, Deadline deadline) override;
  // An empty descriptor, which no counter counts. Buffers for it are there already, so the card is
  // asked for no memory; sending it takes what the driver takes.
  bool is_alive() override;
  AttentionStats stats() const override;

 private:
  struct InFlight {
    Ticket ticket = 0;
    std::uint32_t tag = 0;
    Launch* launch = nullptr;
    AttentionPartial out;
    std::vector<std::uint32_t> result_rows;
    std::chrono::steady_clock::time_point begin;
    bool is_counted = true;
  };

  void begin_attend(Ticket ticket, const AttentionBatch& batch, AttentionPartial out);
  std::vector<std::size_t> result_bytes(std::size_t q_rows) const;
  Launch* new_launch();
  Launch* idle_launch();
  WaitResult await(Launch& launch, Deadline deadline);
  void finish(InFlight& entry);
  WaitResult wait_earlier(Ticket ticket, Deadline deadline);
  WaitResult move_page(PageId page, std::span<const std::byte> from, std::span<std::byte> to,
                       Deadline deadline);
  WaitResult move_kernel_page(std::uint32_t kernel_page, std::span<const std::byte> payload,
                              std::vector<const std::byte*>& results, Deadline deadline);
  void check_kernel_version();
  void measure();
  WaitResult lose(const std::string& reason);

  const std::string id_;  // of the card, for messages
  AttentionGeometry geometry_;
  KernelLayout layout_;
  xrt::device device_;
  std::vector<UnitShare> shares_;
  SettledBuffers card_;  // also when the constructor throws
  std::vector<Launch*> idle_;
  Launch* mover_ = nullptr;  // of pages; made at the first export or import
  bool mover_busy_ = false;  // a move ran past its deadline
  std::deque<InFlight> in_flight_;
  AttentionCapacity capacity_;
  Ticket last_ticket_ = 0;
  std::uint32_t next_tag_ = 1;
  bool lost_ = false;
  std::string lost_reason_;
  mutable std::mutex stats_mutex_;
  AttentionStats stats_;
};

}  // namespace tandem::device::xrt_card
