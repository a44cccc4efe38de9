// SPDX-License-Identifier: Apache-2.0
//
// CompositeAttention: the common base of attention units over several parts (contract:
// device/attention_unit.h).
//
// Every page is in all parts, with the same id; each part holds the layers or heads of its slice. A
// page image is assembled from images of the parts. Loss of a part is loss of the composite:
// tickets become kLost after all parts have returned what they borrowed. If a part refuses a batch,
// wait() throws that part's Error, also after all parts are done. Ownership: owns the parts.
// Threads: one submitter; capacity() and stats() from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "common/error.h"
#include "device/attention_unit.h"
#include "parallel/page_slice.h"
#include "parallel/unit_group.h"

namespace tandem::device::parallel {

struct AttentionPart {
  std::unique_ptr<AttentionUnit> unit;  // has the geometry of the slice
  PageSlice slice;
};

class CompositeAttention : public AttentionUnit {
 public:
  // book: the one of the composite compute unit, or null. Throws Error if the geometry of a part
  // differs from its slice.
  CompositeAttention(const AttentionGeometry& geometry, std::vector<AttentionPart> parts,
                     std::shared_ptr<AddressBook> book);

  const AttentionGeometry& geometry() const override { return geometry_; }
  AttentionCapacity capacity() const override;
  // Its parts share queues with the composite that computes.
  bool may_have_own_thread() const override { return false; }
  WaitResult wait(Ticket ticket, Deadline deadline) override;
  WaitResult export_page(PageId page, std::span<std::byte> to, Deadline deadline) override;
  WaitResult import_page(PageId page, std::span<const std::byte> from, Deadline deadline) override;
  AttentionStats stats() const override;

 protected:
  struct Flight {
    Ticket ticket = 0;
    // parts that have not been waited for, and their tickets
    std::vector<std::pair<int, Ticket>> parts;
    // Called when all parts are done. answered: true if no part refused the batch or was lost. May
    // be empty.
    std::function<void(bool answered)> on_finished;
    std::exception_ptr refused = {};  // the Error of a part that refused the batch
    bool abandoned = false;           // submit() has thrown its error
  };

  int num_parts() const { return static_cast<int>(parts_.size()); }
  AttentionUnit& part(int index) { return *parts_[static_cast<std::size_t>(index)].unit; }
  const PageSlice& slice(int index) const { return parts_[static_cast<std::size_t>(index)].slice; }
  AddressBook* book() const { return book_.get(); }
  void check(const AttentionBatch& batch, const AttentionPartial& out) const;
  // Whether every part works in the queue of its unit of the composite.
  template <typename Composite>
  bool parts_work_in_queues_of(Composite& compute) const {
    for (std::size_t index = 0; index < parts_.size(); ++index) {
      if (!parts_[index].unit->works_in_queue_of(compute.unit(static_cast<int>(index)))) {
        return false;
      }
    }
    return true;
  }

  // Submits to a part as a piece of `flight`, unless the composite is lost.
  void submit_part(Flight& flight, int index, const AttentionBatch& batch, AttentionPartial out) {
    if (!lost_) flight.parts.emplace_back(index, part(index).submit(batch, out));
  }
  // Runs call(); a DeviceError of it loses the composite.
  template <typename Call>
  void or_lost(const Call& call) {
    try {
      if (!lost_) call();
    } catch (const DeviceError&) {
      lost_ = true;
    }
  }
  Ticket launch(Flight flight);
  // Handles a batch that only some parts accepted: wait() of later batches waits for these parts.
  void abandon(Flight flight);
  // For destructors: destroys the parts before the memory that they may still use.
  void drop_parts() { parts_.clear(); }

 private:
  WaitResult finish(Flight& flight, Deadline deadline);
  WaitResult wait_for_part(Flight& flight, Deadline deadline);

  const AttentionGeometry geometry_;
  std::vector<AttentionPart> parts_;
  std::shared_ptr<AddressBook> book_;
  std::uint32_t num_pages_ = 0;
  std::deque<Flight> flights_;
  std::exception_ptr refused_;  // the Error of a finished flight, until wait() throws it
  Ticket last_ticket_ = 0;
  Ticket last_done_ = 0;
  std::atomic<std::uint64_t> launches_{0};
  bool lost_ = false;
};

}  // namespace tandem::device::parallel
