// SPDX-License-Identifier: Apache-2.0
//
// The layout of the slot, posts and waits, and the thread's work for a post.
#include "engine/attention/attention_ring.h"

#include <algorithm>
#include <cstring>

#include "common/error.h"
#include "engine/kv_cache/guarded_wait.h"

namespace tandem::engine {

using device::MemoryKind;
using device::RingCount;
using device::RingWords;
using device::Slice;
using device::WaitResult;

AttentionRing::AttentionRing(device::AttentionUnit& unit, int index, const LaneContext& context,
                             std::atomic<bool>& failed)
    : unit_(unit), index_(index), context_(context), failed_(failed) {
  device::ComputeUnit& compute = context.queue.unit();
  words_ = compute.allocate(kLanes * sizeof(RingWords), MemoryKind::kHost);
  counts_ = compute.allocate(kLanes * sizeof(RingCount), MemoryKind::kDevice);
  const std::span<std::byte> words = words_->host();
  std::memset(words.data(), 0, words.size());
  thread_ = std::make_unique<RingThread>(
      std::span(reinterpret_cast<RingWords*>(words.data()), kLanes),
      [this](std::size_t lane, std::uint32_t tag) { return answer(lane, tag); });
}

void AttentionRing::open(const LaneStep& step) {
  step_ = step;
  if (!has_work()) return;
  if (!counts_are_set_) {
    // The copy comes before the first post: until then all words are zero.
    thread_->clear();
    context_.queue.enqueue(
        device::CopyOp{kLanes * sizeof(RingCount), {words_.get(), 0}, {counts_.get(), 0}});
    counts_are_set_ = true;
  }
  failure_ = {};
  thread_->open();
}

bool AttentionRing::has_work() const {
  for (const std::vector<AttentionLayout>& layouts : step_.lent->layouts) {
    for (const AttentionLayout& layout : layouts) {
      if (has_work(layout, true) || has_work(layout, false)) return true;
    }
  }
  return false;
}

RingFailure AttentionRing::close() {
  thread_->close();
  if (failed_.load(std::memory_order_relaxed)) counts_are_set_ = false;
  return std::exchange(failure_, {});
}

bool AttentionRing::is_mine(const UnitShare& share, bool queries) const {
  return share.unit == index_ && (share.part == SharePart::kQueries) == queries;
}

bool AttentionRing::has_work(const AttentionLayout& layout, bool queries) const {
  return std::ranges::any_of(layout.shares,
                             [&](const UnitShare& share) { return is_mine(share, queries); });
}

AttentionRing::Slot AttentionRing::slot_of(const AttentionLayout& layout,
                                           std::size_t sub_batch) const {
  Slot slot;
  for (const UnitShare& share : layout.shares) {
    if (share.unit != index_) continue;
    slot.rows.cover(share.rows_read.begin, share.rows_read.end - share.rows_read.begin);
  }
  const auto rows = static_cast<std::size_t>(slot.rows.end - slot.rows.begin);
  const std::size_t row = step_.first_row[sub_batch] + static_cast<std::size_t>(slot.rows.begin);
  slot.q = row * step_.lent->slot_width();
  slot.k = slot.q + rows * context_.q_width;
  slot.v = slot.k + rows * context_.kv_width;
  slot.o[0] = slot.v + rows * context_.kv_width;
  slot.lse[0] = slot.o[0] + rows * context_.q_width;
  slot.o[1] = slot.lse[0] + rows * context_.q_heads;
  slot.lse[1] = slot.o[1] + rows * context_.q_width;
  return slot;
}

Slice AttentionRing::slot_at(std::size_t floats) const {
  return {step_.lent->slots[static_cast<std::size_t>(index_)].get(), floats * sizeof(float)};
}

device::Ring AttentionRing::ring_of(std::size_t lane) const {
  return {{words_.get(), lane * sizeof(RingWords)}, {counts_.get(), lane * sizeof(RingCount)}};
}

void AttentionRing::post(const StepPlace& place, bool queries) {
  const AttentionLayout& layout = step_.layout(place);
  if (!has_work(layout, queries)) return;
  const Slot slot = slot_of(layout, place.sub_batch);
  RowSpan q_rows, new_rows;
  for (const UnitShare& share : layout.shares) {
    if (!is_mine(share, queries)) continue;
    q_rows.cover(share.q_rows.begin, share.q_rows.end - share.q_rows.begin);
    new_rows.cover(share.new_rows.begin, share.new_rows.end - share.new_rows.begin);
  }
  const RowBuffers& from = step_.lent->rows;
  copies_.clear();
  const auto copy = [&](const RowSpan& rows, const std::unique_ptr<device::Buffer>& buffer,
                        std::size_t width, std::size_t to) {
    if (rows.empty()) return;
    const auto first = static_cast<std::size_t>(rows.begin);
    const auto skipped = static_cast<std::size_t>(rows.begin - slot.rows.begin);
    copies_.push_back({static_cast<std::size_t>(rows.end - rows.begin) * width * sizeof(float),
                       row(buffer, step_.first_row[place.sub_batch] + first, width),
                       slot_at(to + skipped * width)});
  };
  copy(q_rows, from.q, context_.q_width, slot.q);
  copy(new_rows, from.k, context_.kv_width, slot.k);
  copy(new_rows, from.v, context_.kv_width, slot.v);
  context_.queue.enqueue(device::PostOp{copies_, ring_of(lane_of(place.sub_batch, queries)),
                                        static_cast<std::uint32_t>(place.layer)});
}

void AttentionRing::await(const StepPlace& place) {
  const AttentionLayout& layout = step_.layout(place);
  const Slot slot = slot_of(layout, place.sub_batch);
  for (const bool queries : {true, false}) {
    if (!has_work(layout, queries)) continue;
    copies_.clear();
    for (const UnitShare& share : layout.shares) {
      if (!is_mine(share, queries) || share.rows.empty()) continue;
      const PartialBuffers& to = step_.lent->partial_of(share);
      const auto first =
          step_.first_row[place.sub_batch] + static_cast<std::size_t>(share.q_rows.begin);
      const auto skipped = static_cast<std::size_t>(share.q_rows.begin - slot.rows.begin);
      const auto rows = static_cast<std::size_t>(share.q_rows.end - share.q_rows.begin);
      const std::size_t part = share.ragged ? 1 : 0;
      copies_.push_back({rows * context_.q_width * sizeof(float),
                         slot_at(slot.o[part] + skipped * context_.q_width),
                         row(to.o, first, context_.q_width)});
      copies_.push_back({rows * context_.q_heads * sizeof(float),
                         slot_at(slot.lse[part] + skipped * context_.q_heads),
                         row(to.lse, first, context_.q_heads)});
    }
    context_.queue.enqueue(device::AwaitOp{ring_of(lane_of(place.sub_batch, queries)), copies_});
  }
}

// What follows runs in the ring's thread.

void AttentionRing::fail() { failed_.store(true, std::memory_order_relaxed); }

// No exception may leave the thread. What was submitted and not waited for may still use the slot.
bool AttentionRing::answer(std::size_t lane, std::uint32_t tag) noexcept {
  if (failed_.load(std::memory_order_relaxed)) return !failure_.stuck;
  runs_.clear();
  try {
    serve(lane, tag);
  } catch (...) {
    failure_.refused = std::current_exception();
    fail();
  }
  if (std::ranges::any_of(runs_, [](const Run& run) { return run.ticket != 0; })) {
    failure_.lost = failure_.stuck = true;
    fail();
  }
  return !failure_.stuck;
}

void AttentionRing::serve(std::size_t lane, std::uint32_t tag) {
  const StepPlace place{static_cast<int>(tag), lane / 2};
  const AttentionLayout& layout = step_.layout(place);
  const Slot slot = slot_of(layout, place.sub_batch);
  runs_.reserve(layout.shares.size());  // nothing fails between a submission and its place here
  for (const UnitShare& share : layout.shares) {
    if (is_mine(share, lane == lane_of(place.sub_batch, true)) && !submit(share, slot, place)) {
      break;
    }
  }
  // Also when the unit is lost: only the wait gives back what it borrowed.
  for (Run& run : runs_) finish(run);
}

bool AttentionRing::submit(const UnitShare& share, const Slot& slot, const StepPlace& place) {
  const auto rows = static_cast<std::size_t>(share.rows_read.end - share.rows_read.begin);
  const auto skipped = static_cast<std::size_t>(share.rows_read.begin - slot.rows.begin);
  const auto floats = [&](std::size_t at, std::size_t width) {
    return device::host_floats(slot_at(at + skipped * width), rows * width);
  };
  const std::size_t part = share.ragged ? 1 : 0;
  device::AttentionBatch batch = context_.batch_of(share, place.layer);
  batch.q = floats(slot.q, context_.q_width);
  batch.k = floats(slot.k, context_.kv_width);
  batch.v = floats(slot.v, context_.kv_width);
  Run run;
  run.details = {place.layer, static_cast<int>(place.sub_batch), static_cast<std::int64_t>(rows),
                 -1};
  if (context_.queue.trace().on()) run.submitted = StepTrace::Clock::now();
  try {
    run.ticket = unit_.submit(
        batch, {floats(slot.o[part], context_.q_width), floats(slot.lse[part], context_.q_heads)});
  } catch (const DeviceError&) {
    failure_.lost = true;
  } catch (...) {
    failure_.refused = std::current_exception();
  }
  if (run.ticket == 0) {
    fail();
    return false;
  }
  runs_.push_back(run);
  return true;
}

void AttentionRing::finish(Run& run) {
  if (failure_.stuck) return;
  WaitResult result = WaitResult::kDone;
  try {
    const trace::Span span = context_.queue.trace().wait_in_thread_of(index_, run.details);
    result = guarded_wait([&] { return unit_.wait(run.ticket, context_.timeout()); });
  } catch (const Error&) {  // the failed run has ended too
    failure_.refused = std::current_exception();
    fail();
  }
  if (result == WaitResult::kTimeout) {
    failure_.lost = failure_.stuck = true;
    return fail();
  }
  run.ticket = 0;
  if (result == WaitResult::kLost) {
    failure_.lost = true;
    fail();
  }
  if (context_.queue.trace().on()) {
    context_.queue.trace().run(index_, run.submitted, StepTrace::Clock::now(), run.details);
  }
}

}  // namespace tandem::engine
