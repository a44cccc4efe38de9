// SPDX-License-Identifier: Apache-2.0
//
// Names of metrics are those of trace/metrics.h.
#include "engine/engine_metrics.h"

namespace tandem::engine {
namespace {

const char* reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      break;
  }
  return "error";
}

void set_plan(trace::Metrics& metrics, const EngineStatus& status) {
  const PlanStatus& plan = status.plan;
  metrics.set_target_missed(plan.target_missed, status.target_missed_steps);
  for (const auto& [mode, steps] : status.steps_by_mode) metrics.set_plan_steps_total(mode, steps);
  if (plan.mode.empty()) return;
  metrics.set_plan_part("step", "", plan.predicted_s, plan.measured_s);
  for (const PlanPart& part : plan.parts) {
    metrics.set_plan_part(part.name, part.device, part.predicted_s, part.measured_s.value_or(-1));
  }
}

}  // namespace

void observe_token(trace::Metrics& metrics, Sequence& sequence) {
  const RequestTimes& times = sequence.times();
  if (const auto gap = sequence.take_token_gap()) metrics.observe_inter_token_seconds(*gap);
  if (sequence.take_first_token()) {
    metrics.observe_queue_seconds(times.queued);
    metrics.observe_prefill_seconds(times.prefill);
    metrics.observe_time_to_first_token_seconds(times.time_to_first_token);
  }
}

void observe_end(trace::Metrics& metrics, const Sequence& sequence) {
  metrics.count_finished(reason_name(sequence.finish_reason()));
  if (sequence.num_generated() > 0) metrics.observe_decode_seconds(sequence.times().decode);
}

void set_totals(trace::Metrics& metrics, const EngineStatus& status) {
  metrics.set_requests(status.running, status.waiting);
  metrics.set_tokens_total(status.prompt_tokens, status.cached_tokens, status.generated_tokens);
  metrics.set_preemptions_total(status.preemptions);
  metrics.set_rebuilt_sequences_total(status.rebuilt_sequences);
  metrics.set_moved_pages_total(status.moved_pages);
  metrics.set_refused_steps_total(status.refused_steps);
  metrics.set_parking_totals(status.parked_sequences, status.restored_tokens);
  metrics.set_drafts_total(status.speculation.drafted, status.speculation.accepted);
  metrics.set_compute_totals(status.compute_id, status.compute.ops,
                             status.compute.weight_bytes_read, status.compute.busy_seconds);
  set_plan(metrics, status);
  for (const UnitStatus& unit : status.units) {
    metrics.set_unit_pages(unit.id, unit.pages_used, unit.pages_total);
    metrics.set_unit_alive(unit.id, unit.alive);
    metrics.set_unit_losses_total(unit.id, unit.losses);
    metrics.set_unit_totals(unit.id, unit.stats.launches, unit.stats.bytes_to_unit,
                            unit.stats.bytes_from_unit, unit.stats.busy_seconds);
  }
}

}  // namespace tandem::engine
