// SPDX-License-Identifier: Apache-2.0
//
// Submission and waiting by the engine's thread.
#include "engine/attention/host_lane.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::engine {

using device::WaitResult;

void HostLane::add_unit(int unit, device::AttentionUnit& device) {
  const bool has_link = device.capacity().link_bandwidth_bytes_per_s > 0;
  const auto index = static_cast<std::size_t>(unit);
  units_.resize(std::max(units_.size(), index + 1));
  units_[index] = {&device, has_link};
}

bool HostLane::sends_queries(const AttentionLayout& layout) const {
  return std::ranges::any_of(layout.shares, [&](const UnitShare& share) {
    return share.part == SharePart::kQueries && has(share);
  });
}

bool HostLane::send_queries(const StepPlace& place) {
  const AttentionLayout& layout = step_.layout(place);
  if (!sends_queries(layout)) return true;
  bring_queries(place);
  context_.queue.sync();
  return std::ranges::all_of(layout.shares, [&](const UnitShare& share) {
    return share.part != SharePart::kQueries || !has(share) || submit(share, place);
  });
}

bool HostLane::reads_rows(const StepPlace& place) const {
  return std::ranges::any_of(step_.layout(place).shares,
                             [&](const UnitShare& share) { return has(share); });
}

bool HostLane::submit(const StepPlace& place) {
  for (const bool behind_link : {true, false}) {
    for (const UnitShare& share : step_.layout(place).shares) {
      if (!has(share) || share.part == SharePart::kQueries) continue;
      if (unit_of(share.unit).has_link == behind_link && !submit(share, place)) return false;
    }
  }
  return true;
}

bool HostLane::submit(const UnitShare& share, const StepPlace& place) {
  const std::size_t begin =
      step_.first_row[place.sub_batch] + static_cast<std::size_t>(share.rows_read.begin);
  const auto num_rows = static_cast<std::size_t>(share.rows_read.end - share.rows_read.begin);
  const auto floats = [&](const std::unique_ptr<device::Buffer>& buffer, std::size_t width) {
    return device::host_floats(row(buffer, begin, width), num_rows * width);
  };
  const RowBuffers& from = rows();
  const PartialBuffers& to = results_of(share);
  device::AttentionBatch batch = context_.batch_of(share, place.layer);
  batch.q = floats(from.q, context_.q_width);
  batch.k = floats(from.k, context_.kv_width);
  batch.v = floats(from.v, context_.kv_width);
  InFlight run;
  run.unit = share.unit;
  run.details = {place.layer, static_cast<int>(place.sub_batch),
                 static_cast<std::int64_t>(num_rows), -1};
  std::vector<InFlight>& in_flight = in_flight_[place.sub_batch];
  in_flight.reserve(in_flight.size() + 1);  // nothing may fail after the submission
  const bool traces = context_.queue.trace().on();
  if (traces) run.submitted = TraceClock::now();
  try {
    run.ticket = unit_of(share.unit)
                     .device->submit(
                         batch, {floats(to.o, context_.q_width), floats(to.lse, context_.q_heads)});
  } catch (const DeviceError&) {
    context_.losses.lose(share.unit);
    return false;
  }
  in_flight.push_back(run);
  if (traces) trace_end(in_flight.back());
  return true;
}

// Traces the end of a run whose work submit() has done itself.
void HostLane::trace_end(InFlight& run) {
  const Unit& unit = unit_of(run.unit);
  if (unit.has_link) return;
  const Deadline at_once = Deadline::after({});
  if (context_.losses.wait(*unit.device, run.ticket, at_once) != WaitResult::kDone) return;
  context_.queue.trace().run(run.unit, run.submitted, TraceClock::now(), run.details);
  run.traced = true;
}

bool HostLane::collect(std::size_t sub_batch) {
  StepTrace& trace = context_.queue.trace();
  bool complete = true;
  for (const bool behind_link : {false, true}) {
    for (const InFlight& run : in_flight_[sub_batch]) {
      const Unit& unit = unit_of(run.unit);
      if (unit.has_link != behind_link) continue;
      const trace::Span span = trace.wait_for_unit(run.unit);
      WaitResult result = WaitResult::kTimeout;
      if (!context_.losses.is_stuck(run.unit)) {
        result = context_.losses.wait(*unit.device, run.ticket, context_.timeout());
      }
      if (trace.on() && !run.traced) {
        trace.run(run.unit, run.submitted, TraceClock::now(), run.details);
      }
      if (result == WaitResult::kDone) continue;
      context_.losses.lose(run.unit, result);
      complete = false;
    }
  }
  in_flight_[sub_batch].clear();
  return complete;
}

}  // namespace tandem::engine
