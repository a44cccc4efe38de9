// SPDX-License-Identifier: Apache-2.0
//
// Opening, closing and draining of rings.
#include "engine/attention/ring_lane.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "common/error.h"

namespace tandem::engine {

void RingLane::add_unit(int unit, device::AttentionUnit& device) {
  auto ring = std::make_unique<AttentionRing>(device, unit, context_, step_failed_);
  const auto index = static_cast<std::size_t>(unit);
  is_used_.resize(std::max(rings_.size(), index + 1), true);
  rings_.resize(is_used_.size());
  rings_[index] = std::move(ring);
}

template <typename Call>
void RingLane::for_rings(const Call& call) {
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    if (rings_[i] && is_used_[i]) call(static_cast<int>(i), *rings_[i]);
  }
}

void RingLane::begin(const LaneStep& step) {
  if (are_abandoned_)
    throw DeviceError(
        "executor", "the compute unit did not finish an interrupted step; it is not used any more");
  step_failed_.store(false, std::memory_order_relaxed);
  for_rings([&](int, AttentionRing& ring) {
    ring.open(step);
    are_open_ = true;
  });
}

bool RingLane::send_queries(const StepPlace& place) {
  for_rings([&](int, AttentionRing& ring) { ring.post(place, true); });
  return true;
}

void RingLane::bring_rows(const StepPlace& place) {
  for_rings([&](int, AttentionRing& ring) { ring.post(place, false); });
}

void RingLane::return_results(const StepPlace& place) {
  for_rings([&](int, AttentionRing& ring) { ring.await(place); });
}

bool RingLane::finish() {
  bool complete = true;
  if (!std::exchange(are_open_, false)) return complete;
  for_rings([&](int unit, AttentionRing& ring) {
    const RingFailure failure = ring.close();
    if (failure.refused) context_.losses.refuse(failure.refused);
    if (!failure.lost) return;
    context_.losses.lose(unit,
                         failure.stuck ? device::WaitResult::kTimeout : device::WaitResult::kLost);
    complete = false;
  });
  return complete;
}

void RingLane::abort() {
  drain();
  finish();
}

// Lets the compute unit finish the enqueued work: posts are answered at once.
void RingLane::drain() {
  if (!are_open_) return;
  step_failed_.store(true, std::memory_order_relaxed);
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      return context_.queue.sync();
    } catch (const DeviceError&) {
      break;
    } catch (const std::exception&) {  // the refused work is dropped; nothing follows it
    }
  }
  are_abandoned_ = true;
  for_rings([](int, AttentionRing& ring) { ring.abandon(); });
}

}  // namespace tandem::engine
