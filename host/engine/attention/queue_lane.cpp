// SPDX-License-Identifier: Apache-2.0
//
// Submission into the compute unit's queue, and one wait at the end of a step.
#include "engine/attention/queue_lane.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::engine {

void QueueLane::add_unit(int unit, device::AttentionUnit& device) {
  const auto index = static_cast<std::size_t>(unit);
  units_.resize(std::max(units_.size(), index + 1));
  units_[index] = {&device};
}

bool QueueLane::submit(const StepPlace& place) {
  for (const UnitShare& share : step_.layout(place).shares) {
    const auto index = static_cast<std::size_t>(share.unit);
    if (index >= units_.size() || units_[index].device == nullptr) continue;
    if (!submit(share, place, units_[index])) return false;
  }
  return true;
}

bool QueueLane::submit(const UnitShare& share, const StepPlace& place, Unit& unit) {
  const std::size_t begin =
      step_.first_row[place.sub_batch] + static_cast<std::size_t>(share.rows_read.begin);
  const auto rows = static_cast<std::size_t>(share.rows_read.end - share.rows_read.begin);
  const auto floats = [&](const std::unique_ptr<device::Buffer>& buffer, std::size_t width) {
    return device::device_floats(row(buffer, begin, width), rows * width);
  };
  const RowBuffers& from = step_.lent->rows;
  const PartialBuffers& to = step_.lent->partial_of(share);
  device::AttentionBatch batch = context_.batch_of(share, place.layer);
  batch.q = floats(from.q, context_.q_width);
  batch.k = floats(from.k, context_.kv_width);
  batch.v = floats(from.v, context_.kv_width);
  StepTrace& trace = context_.queue.trace();
  StepTrace::Clock::time_point submitted;
  if (trace.on()) submitted = StepTrace::Clock::now();
  try {
    unit.queued = unit.device->submit(
        batch, {floats(to.o, context_.q_width), floats(to.lse, context_.q_heads)});
  } catch (const DeviceError&) {
    context_.losses.lose(share.unit);
    return false;
  }
  if (trace.on()) {
    trace.run(
        share.unit, submitted, StepTrace::Clock::now(),
        {place.layer, static_cast<int>(place.sub_batch), static_cast<std::int64_t>(rows), -1});
  }
  return true;
}

bool QueueLane::finish() {
  bool complete = true;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    Unit& unit = units_[i];
    if (unit.queued == 0) continue;
    const device::WaitResult result =
        context_.losses.wait(*unit.device, unit.queued, context_.timeout());
    unit.queued = 0;
    if (result == device::WaitResult::kDone) continue;
    context_.losses.lose(static_cast<int>(i), result);
    complete = false;
  }
  return complete;
}

}  // namespace tandem::engine
