// SPDX-License-Identifier: Apache-2.0
//
// NaiveAttentionUnit: an attention unit in double precision that can fail on demand.
//
// A thread of its own answers the batches in order, so that a caller which touches what it has lent
// is seen by the thread sanitizer. Pages start as NaN: reading what was never appended shows. After
// `lose_after` batches the unit is lost; the `slow_batch`-th batch takes `slow_for` longer, during
// which wait() times out, and only then reads and writes what it was lent; instead of a time,
// `on_slow` may say when, and may end in NaN for every result. The `lose_at_move`-th
// page that is exported or imported loses the unit too. Threads: as the contract says. Only f16
// pages can be moved.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "device/attention_unit.h"

namespace tandem::test {

struct NaiveUnitOptions {
  std::uint32_t num_pages = 64;
  double read_bandwidth = 0;  // unknown
  bool has_link = true;
  std::uint64_t lose_after = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t slow_batch = std::numeric_limits<std::uint64_t>::max();
  std::chrono::milliseconds slow_for{0};
  std::function<void()> on_slow = {};  // in the unit's thread, before the slow batch is answered
  bool spoils_slow = false;            // with NaN, all that was lent for its results
  std::chrono::microseconds delay{0};  // of every batch
  std::uint64_t lose_at_move = std::numeric_limits<std::uint64_t>::max();  // the first is 0
};

class NaiveAttentionUnit final : public device::AttentionUnit {
 public:
  NaiveAttentionUnit(const device::AttentionGeometry& geometry, const NaiveUnitOptions& options);
  ~NaiveAttentionUnit() override;

  const device::AttentionGeometry& geometry() const override { return geometry_; }
  device::AttentionCapacity capacity() const override;
  device::Ticket submit(const device::AttentionBatch& batch, device::AttentionPartial out) override;
  device::WaitResult wait(device::Ticket ticket, Deadline deadline) override;
  device::WaitResult export_page(device::PageId page, std::span<std::byte> to,
                                 Deadline deadline) override;
  device::WaitResult import_page(device::PageId page, std::span<const std::byte> from,
                                 Deadline deadline) override;
  device::AttentionStats stats() const override;

 private:
  struct Job {
    device::Ticket ticket;
    device::AttentionBatch batch;
    device::AttentionPartial out;
  };
  void serve();
  void answer(const Job& job);
  void append(const device::AttentionBatch& batch, const device::AttentionSequence& sequence);
  void attend(const Job& job, const device::AttentionSequence& sequence);
  // Calls visit(value, image index) for every value of a page; the result of the move.
  template <typename Visit>
  device::WaitResult move_page(device::PageId page, std::size_t image_bytes, const Visit& visit);
  // The row of K (or V) of all heads for a token held in a page.
  float* token_row(std::vector<float>& store, int layer, device::PageId page, int slot);

  const device::AttentionGeometry geometry_;
  const NaiveUnitOptions options_;
  std::vector<float> k_, v_;  // [num_layers, num_pages, page_tokens, kv_heads, head_dim]

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  device::Ticket last_ticket_ = 0, done_ticket_ = 0;
  bool lost_ = false, stopping_ = false;
  std::uint64_t num_moves_ = 0;
  device::AttentionStats stats_;
  std::thread thread_;
};

}  // namespace tandem::test
