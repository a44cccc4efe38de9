// SPDX-License-Identifier: Apache-2.0
//
// AttentionRing: one attention unit outside the compute unit's queue, fed by that queue through
// rings and not by the engine's thread. Its submission thread sees the rows of a layer, submits,
// waits, and raises the answer.
//
// Posts and waits hold a layer's number and addresses, so those of equal steps are equal. On
// failure every later post is answered at once, whatever the slot contains, so that the compute
// unit reaches the end of its queue; close() reports the failure. A unit may still use its slot if
// it has not answered in time, or if its wait() threw something other than Error. Then its ring is
// abandoned and the slot is not reused. Threads: the engine's; between open() and close() its own
// thread submits and waits. Ownership: borrows all. Errors: those of the compute unit.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <vector>

#include "device/attention_unit.h"
#include "engine/attention/attention_lane.h"
#include "engine/attention/ring_thread.h"

namespace tandem::engine {

struct RingFailure {
  bool lost = false, stuck = false;
  std::exception_ptr refused;  // a refused batch; the unit stays usable unless it is lost too
};

class AttentionRing {
 public:
  // `failed`: shared by all rings of a step. `index`: the unit's number in layouts and on the
  // timeline.
  AttentionRing(device::AttentionUnit& unit, int index, const LaneContext& context,
                std::atomic<bool>& failed);

  // Begins a step. Until close(), the step and the objects that it refers to must not change, and
  // only the ring's thread uses the unit.
  void open(const LaneStep& step);
  // Returns the failures since open(). The compute unit must have finished, or be lost.
  RingFailure close();
  // Ends present and future waits of the compute unit.
  void abandon() { thread_->abandon(); }

  // These two enqueue the operations of the ring. They do nothing if the unit has no shares.
  void post(const StepPlace& place, bool queries);
  void await(const StepPlace& place);

 private:
  static constexpr std::size_t kLanes = 2 * kMaxSubBatches;
  // The unit's piece of host memory. One post per layer and sub-batch brings all rows that the
  // unit's shares read: [q | k | v | o, lse | o, lse of ragged beginnings], each with as many rows
  // as the shares span; the wait copies the results from there. Early queries have a separate post.
  // Each sub-batch has its own lane and rows. Places are in floats, for rows [begin, end) of the
  // sub-batch.
  struct Slot {
    RowSpan rows;
    std::size_t q = 0, k = 0, v = 0;
    std::array<std::size_t, 2> o{}, lse{};  // [0]: of the other shares, [1]: of ragged beginnings
  };
  struct Run {
    device::Ticket ticket = 0;  // of the batch in flight; 0: none, or it has ended
    StepTrace::Clock::time_point submitted;
    trace::SpanDetails details;
  };

  static std::size_t lane_of(std::size_t sub_batch, bool queries) {
    return 2 * sub_batch + (queries ? 1 : 0);
  }
  bool is_mine(const UnitShare& share, bool queries) const;
  bool has_work(const AttentionLayout& layout, bool queries) const;
  bool has_work() const;  // whether the unit has shares in any layer of the step
  Slot slot_of(const AttentionLayout& layout, std::size_t sub_batch) const;
  device::Slice slot_at(std::size_t floats) const;
  device::Ring ring_of(std::size_t lane) const;

  bool answer(std::size_t lane, std::uint32_t tag) noexcept;
  void serve(std::size_t lane, std::uint32_t tag);
  bool submit(const UnitShare& share, const Slot& slot, const StepPlace& place);
  void finish(Run& run);
  void fail();

  device::AttentionUnit& unit_;
  const int index_;
  const LaneContext& context_;
  std::atomic<bool>& failed_;
  std::unique_ptr<device::Buffer> words_, counts_;  // [kLanes]
  // whether the counts on the device are valid; after a failure they may not be
  bool counts_are_set_ = false;
  LaneStep step_;
  RingFailure failure_;    // used by the ring's thread
  std::vector<Run> runs_;  // used by the ring's thread
  std::vector<device::CopyOp> copies_;
  std::unique_ptr<RingThread> thread_;  // last: it uses all of the above
};

}  // namespace tandem::engine
