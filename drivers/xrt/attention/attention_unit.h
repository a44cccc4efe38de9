// SPDX-License-Identifier: Apache-2.0
//
// XrtAttentionUnit: KV pages in the memory of a PCIe FPGA card, and attention over them on its
// compute units.
//
// One submit() sends one descriptor to the card, starts one run of every compute unit, and gets one
// result from each; several may be in flight. Pools hold all layers; pages leave the card only
// through export_page(). Batches take effect in submission order, because a compute unit runs its
// commands in the order of their start. Errors: the unit is lost permanently (kLost) if XRT throws,
// a command fails, or a result does not match its descriptor. After that no call throws or blocks.
// Threads: one submitting thread; capacity() and stats() from any.
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

// Throws Error for a geometry that a card cannot store.
void check_stored(const AttentionGeometry& geometry);

class XrtAttentionUnit final : public AttentionUnit {
 public:
  // The link's bandwidth is 0 where unknown. Runs the kernel a few times to
  // check its version and to measure latency and read bandwidth.
  XrtAttentionUnit(const xrt::device& device, std::vector<ComputeUnitHandle> handles,
                   const AttentionUnitOptions& options, const DeviceInfo& info);

  const AttentionGeometry& geometry() const override { return geometry_; }
  AttentionCapacity capacity() const override { return capacity_; }
  Ticket submit(const AttentionBatch& batch, AttentionPartial out) override;
  WaitResult wait(Ticket ticket, Deadline deadline) override;
  WaitResult export_page(PageId page, std::span<std::byte> to, Deadline deadline) override;
  WaitResult import_page(PageId page, std::span<const std::byte> from, Deadline deadline) override;
  // Sends an empty descriptor, which the statistics do not count. Its buffers exist already, so it
  // allocates no memory on the card.
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
  std::vector<std::size_t> answer_bytes(std::uint32_t kernel_page, bool importing) const;
  WaitResult take_answers(const std::vector<std::size_t>& bytes, std::uint32_t tag,
                          std::vector<const std::byte*>& results);
  void check_kernel_version();
  void measure();
  WaitResult lose(const std::string& reason);

  const std::string id_;  // the id of the card, for messages
  AttentionGeometry geometry_;
  KernelLayout layout_;
  xrt::device device_;
  std::vector<UnitShare> shares_;
  DrainedBuffers card_;  // its destructor also runs if the constructor throws
  std::vector<Launch*> idle_;
  Launch* mover_ = nullptr;  // moves pages; made at the first export or import
  bool mover_busy_ = false;  // a move missed its deadline
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
