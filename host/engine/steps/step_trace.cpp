// SPDX-License-Identifier: Apache-2.0
//
// The names and tracks of the spans.
#include "engine/steps/step_trace.h"

#include <algorithm>

namespace tandem::engine {

StepTrace::StepTrace(trace::Timeline* timeline, const std::string& compute_id)
    : timeline_(timeline), wait_compute_("wait " + compute_id) {
  if (timeline_ == nullptr) return;
  engine_ = timeline_->track("engine", "steps");
  ops_ = timeline_->track(compute_id, "ops");
}

void StepTrace::add_unit(const std::string& id, bool has_own_thread) {
  Unit& unit = units_.emplace_back();
  unit.wait = "wait " + id;
  if (timeline_ == nullptr) return;
  for (std::size_t i = 0; i < kMaxSubBatches; ++i) {
    unit.tracks[i] = timeline_->track(id, "attention of sub-batch " + std::to_string(i));
  }
  if (has_own_thread) unit.submission = timeline_->track(id, "submission");
}

trace::Span StepTrace::wait_for_unit(int unit) const {
  return engine(units_[static_cast<std::size_t>(unit)].wait);
}

trace::Span StepTrace::wait_in_thread_of(int unit, const trace::SpanDetails& details) const {
  const Unit& u = units_[static_cast<std::size_t>(unit)];
  return {timeline_, u.submission, u.wait, details};
}

void StepTrace::run(int unit, Clock::time_point submitted, Clock::time_point ended,
                    const trace::SpanDetails& details) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  const auto lane = static_cast<std::size_t>(details.sub_batch);
  const Clock::time_point begin = std::max(submitted, u.ended[lane]);
  u.ended[lane] = std::max(begin, ended);
  timeline_->span(u.tracks[lane], "attention", begin, u.ended[lane], details);
}

}  // namespace tandem::engine
