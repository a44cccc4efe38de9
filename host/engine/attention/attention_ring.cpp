// SPDX-License-Identifier: Apache-2.0
//
// Places in the slot, posts and waits, and what the thread does for a post.
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

AttentionRing::AttentionRing(device::AttentionUnit& unit, int index, ComputeQueue& queue,
                             const model::ModelConfig& config, const ExecutorOptions& options,
                             std::atomic<bool>& failed)
    : unit_(unit),
      index_(index),
      queue_(queue),
      config_(config),
      options_(options),
      failed_(failed),
      q_width_(static_cast<std::size_t>(config.q_heads) * config.head_dim),
      kv_width_(static_cast<std::size_t>(config.kv_heads) * config.head_dim),
      q_heads_(static_cast<std::size_t>(config.q_heads)) {
  words_ = queue.unit().allocate(kLanes * sizeof(RingWords), MemoryKind::kHost);
  counts_ = queue.unit().allocate(kLanes * sizeof(RingCount), MemoryKind::kDevice);
  const std::span<std::byte> words = words_->host();
  std::memset(words.data(), 0, words.size());
  thread_ = std::make_unique<RingThread>(
      std::span(reinterpret_cast<RingWords*>(words.data()), kLanes),
      [this](std::size_t lane, std::uint32_t tag) { return answer(lane, tag); });
}

void AttentionRing::open(const RingStep& step) {
  step_ = step;
  if (!has_work()) return;
  if (!counts_are_set_) {
    // The copy comes before the first post: until then all words are zero.
    thread_->clear();
    queue_.enqueue(
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

const AttentionLayout& AttentionRing::layout_of(int layer, std::size_t sub_batch) const {
  return step_.lent->layouts[sub_batch][(*step_.window_of_layer)[static_cast<std::size_t>(layer)]];
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
  slot.k = slot.q + rows * q_width_;
  slot.v = slot.k + rows * kv_width_;
  slot.o[0] = slot.v + rows * kv_width_;
  slot.lse[0] = slot.o[0] + rows * q_width_;
  slot.o[1] = slot.lse[0] + rows * q_heads_;
  slot.lse[1] = slot.o[1] + rows * q_width_;
  return slot;
}

Slice AttentionRing::slot_at(std::size_t floats) const {
  return {step_.lent->slots[static_cast<std::size_t>(index_)].get(), floats * sizeof(float)};
}

device::Ring AttentionRing::ring_of(std::size_t lane) const {
  return {{words_.get(), lane * sizeof(RingWords)}, {counts_.get(), lane * sizeof(RingCount)}};
}

void AttentionRing::post(int layer, std::size_t sub_batch, bool queries) {
  const AttentionLayout& layout = layout_of(layer, sub_batch);
  if (!has_work(layout, queries)) return;
  const Slot slot = slot_of(layout, sub_batch);
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
                       row(buffer, step_.first_row[sub_batch] + first, width),
                       slot_at(to + skipped * width)});
  };
  copy(q_rows, from.q, q_width_, slot.q);
  copy(new_rows, from.k, kv_width_, slot.k);
  copy(new_rows, from.v, kv_width_, slot.v);
  queue_.enqueue(device::PostOp{copies_, ring_of(lane_of(sub_batch, queries)),
                                static_cast<std::uint32_t>(layer)});
}

void AttentionRing::await(int layer, std::size_t sub_batch) {
  const AttentionLayout& layout = layout_of(layer, sub_batch);
  const Slot slot = slot_of(layout, sub_batch);
  for (const bool queries : {true, false}) {
    if (!has_work(layout, queries)) continue;
    copies_.clear();
    for (const UnitShare& share : layout.shares) {
      if (!is_mine(share, queries) || share.rows.empty()) continue;
      const PartialBuffers& to = step_.lent->partial_of(share);
      const auto first = step_.first_row[sub_batch] + static_cast<std::size_t>(share.q_rows.begin);
      const auto skipped = static_cast<std::size_t>(share.q_rows.begin - slot.rows.begin);
      const auto rows = static_cast<std::size_t>(share.q_rows.end - share.q_rows.begin);
      const std::size_t part = share.ragged ? 1 : 0;
      copies_.push_back({rows * q_width_ * sizeof(float),
                         slot_at(slot.o[part] + skipped * q_width_), row(to.o, first, q_width_)});
      copies_.push_back({rows * q_heads_ * sizeof(float),
                         slot_at(slot.lse[part] + skipped * q_heads_),
                         row(to.lse, first, q_heads_)});
    }
    queue_.enqueue(device::AwaitOp{ring_of(lane_of(sub_batch, queries)), copies_});
  }
}

// What follows runs in the ring's thread.

void AttentionRing::fail() { failed_.store(true, std::memory_order_relaxed); }

// Whatever is thrown here has nobody above. What was submitted and not waited for to its end may
// still use the slot.
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
  const auto layer = static_cast<int>(tag);
  const std::size_t sub_batch = lane / 2;
  const AttentionLayout& layout = layout_of(layer, sub_batch);
  const Slot slot = slot_of(layout, sub_batch);
  runs_.reserve(layout.shares.size());  // nothing fails between a submission and its place here
  for (const UnitShare& share : layout.shares) {
    if (is_mine(share, lane == lane_of(sub_batch, true)) &&
        !submit(share, slot, layer, sub_batch)) {
      break;
    }
  }
  // Also of a unit that is lost: only that gives back what it borrowed.
  for (Run& run : runs_) finish(run);
}

bool AttentionRing::submit(const UnitShare& share, const Slot& slot, int layer,
                           std::size_t sub_batch) {
  const auto rows = static_cast<std::size_t>(share.rows_read.end - share.rows_read.begin);
  const auto skipped = static_cast<std::size_t>(share.rows_read.begin - slot.rows.begin);
  const auto floats = [&](std::size_t at, std::size_t width) {
    return device::host_floats(slot_at(at + skipped * width), rows * width);
  };
  const std::size_t part = share.ragged ? 1 : 0;
  device::AttentionBatch batch;
  batch.layer = layer;
  batch.scale = config_.attention_scale;
  batch.softcap = config_.attention_softcap;
  batch.q = floats(slot.q, q_width_);
  batch.k = floats(slot.k, kv_width_);
  batch.v = floats(slot.v, kv_width_);
  batch.sequences = share.sequences;
  batch.pages = share.pages;
  Run run;
  run.details = {layer, static_cast<int>(sub_batch), static_cast<std::int64_t>(rows), -1};
  if (queue_.trace().on()) run.submitted = StepTrace::Clock::now();
  try {
    run.ticket =
        unit_.submit(batch, {floats(slot.o[part], q_width_), floats(slot.lse[part], q_heads_)});
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
    const trace::Span span = queue_.trace().wait_in_thread_of(index_, run.details);
    result = guarded_wait(
        [&] { return unit_.wait(run.ticket, Deadline::after(options_.device_timeout)); });
  } catch (const Error&) {  // it is through as well
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
  if (queue_.trace().on()) {
    queue_.trace().run(index_, run.submitted, StepTrace::Clock::now(), run.details);
  }
}

}  // namespace tandem::engine
