// SPDX-License-Identifier: Apache-2.0
//
// CompositeAttention: what attention units over several parts have in common (contract:
// device/attention_unit.h).
//
// Every page lies in all parts, under the same id, each part holding the layers or heads of its
// slice; an image is put together from the parts' images. A part that is lost loses the composite:
// its tickets end in kLost, but only when all parts have given back what they borrowed; so does a
// batch that a part refused end in that part's Error. Ownership:
// owns the parts. Threads: one submitter; capacity() and stats() from any.
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
  std::unique_ptr<AttentionUnit> unit;  // of the slice's geometry
  PageSlice slice;
};

class CompositeAttention : public AttentionUnit {
 public:
  // book: of the composite compute unit, null where there is none. Throws Error where a part's
  // geometry is not its slice's.
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
    std::vector<std::pair<int, Ticket>> parts;  // that have not been waited for
    // When all are through; `answered`: all of them. May be empty.
    std::function<void(bool answered)> on_finished;
    std::exception_ptr refused = {};  // of a part
    bool abandoned = false;           // submit() has told of it
  };

  int num_parts() const { return static_cast<int>(parts_.size()); }
  AttentionUnit& part(int index) { return *parts_[static_cast<std::size_t>(index)].unit; }
  const PageSlice& slice(int index) const { return parts_[static_cast<std::size_t>(index)].slice; }
  AddressBook* book() const { return book_.get(); }
  void check(const AttentionBatch& batch, const AttentionPartial& out) const;
  // Whether part `index` works in the queue of `unit(index)`, for all; `unit`: of a composite.
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
  // Of a batch that not every part has taken: who has is waited for with the batches behind.
  void abandon(Flight flight);
  // The parts first, for destructors of those whose memory parts may still use.
  void drop_parts() { parts_.clear(); }

 private:
  WaitResult finish(Flight& flight, Deadline deadline);
  WaitResult wait_for_part(Flight& flight, Deadline deadline);

  const AttentionGeometry geometry_;
  std::vector<AttentionPart> parts_;
  std::shared_ptr<AddressBook> book_;
  std::uint32_t num_pages_ = 0;
  std::deque<Flight> flights_;
  std::exception_ptr refused_;  // of flights that have finished, until wait() throws it
  Ticket last_ticket_ = 0;
  Ticket last_done_ = 0;
  std::atomic<std::uint64_t> launches_{0};
  bool lost_ = false;
};

}  // namespace tandem::device::parallel
