// SPDX-License-Identifier: Apache-2.0
//
// StepTrace: the spans of a step on a timeline, if there is one.
//
// Tracks: "engine" / "steps" holds steps, plans, stages of a layer and every wait, nested. The
// compute unit's "ops" holds each op from its call to its return: the work on the CPU, the
// enqueueing on a unit with a queue. An attention unit has a track per sub-batch with its runs,
// from submission to the observed end; with a link that is the end of the wait. A run that was
// submitted after another begins where that one ended. Waits of a unit's submission thread have
// their own track. Threads: the engine's; between a step's begin and end the unit's submission
// thread calls run() and wait_in_thread_of(). Cost: one branch per span without a timeline; some
// microseconds with one.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/steps/step_rows.h"
#include "trace/timeline.h"

namespace tandem::engine {

class StepTrace {
 public:
  using Clock = trace::Timeline::Clock;

  StepTrace(trace::Timeline* timeline, const std::string& compute_id);
  // `has_own_thread`: batches are submitted by a thread of the unit, not by the engine's.
  void add_unit(const std::string& id, bool has_own_thread = false);

  bool on() const { return timeline_ != nullptr; }
  // Sets the layer and sub-batch of later spans; -1: none.
  void at(int layer, int sub_batch) { layer_ = layer, sub_batch_ = sub_batch; }

  trace::Span engine(std::string_view name) const {
    return {timeline_, engine_, name, {layer_, sub_batch_, -1, -1}};
  }
  trace::Span op(std::string_view name, std::int64_t rows, std::int64_t bytes = -1) const {
    return {timeline_, ops_, name, {layer_, sub_batch_, rows, bytes}};
  }
  trace::Span wait_for_compute() const { return engine(wait_compute_); }
  trace::Span wait_for_unit(int unit) const;
  // Called by the unit's own thread.
  trace::Span wait_in_thread_of(int unit, const trace::SpanDetails& details) const;

  // Records a batch of one unit. Call it only if on().
  void run(int unit, Clock::time_point submitted, Clock::time_point ended,
           const trace::SpanDetails& details);

 private:
  struct Unit {
    std::string wait;
    std::array<trace::TrackId, kMaxSubBatches> tracks;
    trace::TrackId submission;
    std::array<Clock::time_point, kMaxSubBatches> ended;
  };

  trace::Timeline* const timeline_;
  trace::TrackId engine_, ops_;
  std::string wait_compute_;
  std::vector<Unit> units_;
  int layer_ = -1, sub_batch_ = -1;
};

}  // namespace tandem::engine
