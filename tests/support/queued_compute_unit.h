// SPDX-License-Identifier: Apache-2.0
//
// QueuedComputeUnit: imitates a GPU around the CPU's compute unit. The host cannot see its device
// buffers, its queue works only inside wait(), and the device can be lost in the middle of a
// stream.
//
// enqueue() copies what the contract says it copies and nothing else. address() of a device buffer
// is in memory without access rights, so an access from outside this device's units crashes. Memory
// starts as NaN. Threads: as the contract says. Ownership: borrows the inner unit, which must live
// longer.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <vector>

#include "device/compute_unit.h"

namespace tandem::test {

struct QueuedUnitOptions {
  // ops done; the next op loses the device
  std::uint64_t lose_after = std::numeric_limits<std::uint64_t>::max();
  bool samples = false;  // SampleOp follows model/sampler
  // has rings: the thread that waits for the queue also waits for the host's threads
  bool signals = false;
  std::function<void()> on_allocate = {};  // may throw
  std::function<bool()> dies = {};         // before every op; true loses the device
  std::size_t pad_to = 1;                  // steps have a multiple of so many rows
};

// The work that the unit did.
struct QueuedCounts {
  std::uint64_t waits = 0;  // that found work to do
  std::uint64_t copies = 0, copied_bytes = 0;
  std::uint64_t posts = 0, posted_bytes = 0, awaits = 0, awaited_bytes = 0;
  std::uint64_t sampled_rows = 0;
  std::uint64_t ops_done = 0;
};

class QueuedComputeUnit final : public device::ComputeUnit {
 public:
  explicit QueuedComputeUnit(device::ComputeUnit& inner, const QueuedUnitOptions& options = {})
      : inner_(inner), options_(options) {}
  ~QueuedComputeUnit() override;

  std::unique_ptr<device::Buffer> allocate(std::size_t size_bytes,
                                           device::MemoryKind kind) override;
  std::unique_ptr<device::Weight> load(const device::WeightSource& source) override;

  std::size_t padded_rows(std::size_t rows) const override {
    return (rows + options_.pad_to - 1) / options_.pad_to * options_.pad_to;
  }
  bool supports(device::OpKind kind) const override;
  void enqueue(const device::Op& op) override;

  device::Ticket record() override;
  device::WaitResult wait(device::Ticket ticket, Deadline deadline) override;
  device::ComputeStats stats() const override { return inner_.stats(); }

  // For attention units of the same device: work in the queue, and the memory at an address.
  void push(std::function<void()> work);
  std::byte* memory_at(const void* address, std::size_t size_bytes) const;
  // Does all work up to the ticket; false when the device is lost: then its memory becomes NaN, and
  // wait() throws DeviceError.
  bool drive(device::Ticket ticket);
  bool lost() const { return lost_; }
  device::Ticket last_ticket() const { return last_ticket_; }

  const QueuedCounts& counts() const { return counts_; }
  std::size_t num_buffers() const { return memories_.size(); }

 private:
  class Memory;
  struct Work {
    device::Ticket ticket = 0;  // that it comes before
    std::function<void()> run;
  };

  class InnerOperands;

  void count(const device::Op& op);
  void run(const device::Op& op);
  void run(const device::SampleOp& op);
  void run(const device::PostOp& op);
  void run(const device::AwaitOp& op);
  void lose();

  device::ComputeUnit& inner_;
  const QueuedUnitOptions options_;
  std::vector<Memory*> memories_;
  std::deque<Work> queue_;
  device::Ticket last_ticket_ = 0;
  bool lost_ = false;
  QueuedCounts counts_;
};

}  // namespace tandem::test
