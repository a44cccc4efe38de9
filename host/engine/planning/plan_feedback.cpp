// SPDX-License-Identifier: Apache-2.0
//
// Compares the times of a step with the predictions: fills in the plan's status, and corrects.
//
// A unit's busy time runs from the submission of a batch to its end. With two sub-batches in flight
// it includes waiting, so there only a jump is believed.
#include <algorithm>
#include <cmath>

#include "engine/planning/step_planner.h"
#include "planner/mode/choose_mode.h"

namespace tandem::engine {
namespace {

constexpr double kNoticedFactor = 1.25;
constexpr double kJump = 4;
constexpr std::chrono::seconds kIdleFor{10};
constexpr double kWeightOfNewest = 1.0 / 8;
constexpr double kLeastHost = 1e-4;

bool is_far(double factor, double from) {
  return factor > from * kNoticedFactor || factor < from / kNoticedFactor;
}

}  // namespace

// Corrects all costs on the way to a unit by the same factor as the unit.
void StepPlanner::refresh(std::size_t index) {
  const Unit& unit = units_[index];
  const double factor = unit.correction.factor();
  planner::UnitModel& now = machine_.units[index];
  now = unit.base;
  now.attention.correction *= factor;
  now.launch_s *= factor;
  for (planner::LinkCost* link : {&now.to_unit, &now.from_unit}) {
    link->latency_s *= factor;
    link->bytes_per_s /= factor;
  }
  costs_changed_ |= is_far(factor, unit.dealt_factor);
}

// A unit without work gives no measurement. After a while it is tried again.
void StepPlanner::forget_idle(Clock::TimePoint now) {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    Unit& unit = units_[u];
    if (unit.worked_at == Clock::TimePoint() || now - unit.worked_at < kIdleFor) continue;
    unit.worked_at = now;
    if (unit.correction.factor() <= 1) continue;
    unit.correction.relax();
    refresh(u);
  }
}

// If the parts have no times, everything but own attention counts as dense.
void StepPlanner::learn_compute(const StepMeasure& measured) {
  planner::DeviceCost& compute = machine_.compute;
  const double causal = causal_predicted();
  double predicted = predicted_.dense, seconds = 0;
  if (measured.parts) {
    const StepTimes& parts = *measured.parts;
    seconds = parts.dense;
    causal_.learn(causal, parts.causal);
    merge_.learn(predicted_.merge, parts.merge);
    sampling_.learn(predicted_.sampling, parts.sampling);
    machine_.causal_pair_s = causal_base_s_ * causal_.factor();
    compute.merge_row_s = merge_base_s_ * merge_.factor();
    compute.sampling_s = sampling_base_s_ * sampling_.factor();
    compute.sampling_row_s = sampling_row_base_s_ * sampling_.factor();
  } else {
    predicted += causal + predicted_.merge + predicted_.sampling;
    seconds = compute_measured(measured);
  }
  const double factor = dense_.change_of(predicted, seconds);
  const std::vector<planner::SubBatch>& batches = runs_halves_ ? halves_ : whole_;
  for (const planner::SubBatch& batch : batches) {
    compute.dense_by_rows = compute.dense_by_rows.corrected_at(batch.rows, factor);
  }
}

double StepPlanner::compute_measured(const StepMeasure& measured) const {
  double busy_s = measured.compute_busy_s;
  for (std::size_t u = 0; u < machine_.units.size() && u < measured.unit_busy_s.size(); ++u) {
    if (machine_.units[u].is_own) busy_s -= measured.unit_busy_s[u];
  }
  return std::max(0.0, busy_s);
}

double StepPlanner::causal_predicted() const {
  return machine_.num_layers * whole_[0].causal_pairs * machine_.causal_pair_s;
}

double StepPlanner::unit_predicted(std::size_t unit) const {
  const planner::UnitModel& model = machine_.units[unit];
  if (!model.is_own) return predicted_.units[unit] + predicted_.links[unit];
  double layer_s = 0;
  for (const planner::SubBatch& batch : runs_halves_ ? halves_ : whole_) {
    const planner::AttentionWork& work = batch.units[unit];
    if (work.rows > 0) layer_s += model.launch_s + model.attention.seconds(work);
  }
  return machine_.num_layers * layer_s;
}

void StepPlanner::learn_units(const StepMeasure& measured, Clock::TimePoint now) {
  const std::size_t count = std::min(units_.size(), measured.unit_busy_s.size());
  for (std::size_t u = 0; u < count; ++u) {
    const double predicted = unit_predicted(u), seconds = measured.unit_busy_s[u];
    if (predicted > 0 || units_[u].worked_at == Clock::TimePoint()) units_[u].worked_at = now;
    const bool overlaps = runs_halves_ && !machine_.units[u].is_own;
    if (overlaps && seconds < kJump * predicted) continue;
    units_[u].correction.learn(predicted, seconds);
    refresh(u);
  }
}

void StepPlanner::list_parts(const StepMeasure& measured) {
  std::vector<PlanPart>& parts = status_.parts;
  parts.clear();
  const std::string& compute = options_.compute_id;
  const auto of = [&](double StepTimes::*part) {
    return measured.parts ? std::optional((*measured.parts).*part) : std::nullopt;
  };
  if (!measured.parts) {
    parts.push_back({"compute", compute,
                     predicted_.compute_busy() - predicted_.own_attention + causal_predicted(),
                     compute_measured(measured)});
  }
  parts.push_back({"dense", compute, predicted_.dense, of(&StepTimes::dense)});
  parts.push_back({"causal attention", compute, causal_predicted(), of(&StepTimes::causal)});
  for (std::size_t u = 0; u < machine_.units.size(); ++u) {
    const char* name = machine_.units[u].is_own ? "own attention" : "attention";
    const bool is_known = u < measured.unit_busy_s.size();
    parts.push_back({name, ids_[u], unit_predicted(u),
                     is_known ? std::optional(measured.unit_busy_s[u]) : std::nullopt});
  }
  parts.push_back({"merge", compute, predicted_.merge, of(&StepTimes::merge)});
  parts.push_back({"sampling", compute, predicted_.sampling, of(&StepTimes::sampling)});
  parts.push_back({"host", "", predicted_.host, host_s_});
}

// Learns what a way costs beyond its parts: the measured time of a step over the predicted one. A
// way that was not used for a while is tried again, even if the operator has fixed the shares.
void StepPlanner::learn_way(const StepMeasure& measured, Clock::TimePoint now) {
  if (!chooses_way()) return;
  Way& way = ways_[way_];
  way.worked_at = now;
  for (Way& other : ways_) {
    if (other.worked_at == Clock::TimePoint() || now - other.worked_at < kIdleFor) continue;
    other.worked_at = now;
    if (other.correction.factor() > 1) other.correction.relax();
  }
  const double parts_s = predicted_.total - predicted_.host;
  way.correction.learn(way.correction.factor() * parts_s, measured.run_s);
}

void StepPlanner::learn(const StepMeasure& measured, Clock::TimePoint now) {
  status_.mode = planner::mode_name(runs_halves_    ? planner::StepMode::kTwoSubBatches
                                    : uses_others() ? planner::StepMode::kShares
                                                    : planner::StepMode::kOwnAttention);
  status_.num_sub_batches = runs_halves_ ? 2 : 1;
  status_.rows = static_cast<int>(whole_[0].rows);
  status_.way = uses_others() ? way() : StepWay();
  const double factor = chooses_way() ? ways_[way_].correction.factor() : 1;
  status_.predicted_s = (predicted_.total - predicted_.host) * factor + predicted_.host;
  status_.measured_s = measured.run_s + host_s_;
  list_parts(measured);
  learn_way(measured, now);
  learn_compute(measured);
  learn_units(measured, now);
}

// An outlier may come from other load on the machine; it counts only as a slow step.
void StepPlanner::learn_host(double seconds) {
  host_s_ = seconds;
  const double likely = std::min(seconds, kJump * std::max(machine_.host_s, kLeastHost));
  machine_.host_s += kWeightOfNewest * (likely - machine_.host_s);
}

}  // namespace tandem::engine
