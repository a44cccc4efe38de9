// SPDX-License-Identifier: Apache-2.0
//
// The loop's calls to its StepPlanner: before a step and after it.
#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "engine/loop/engine_loop.h"
#include "engine/planning/estimate_costs.h"
#include "engine/planning/measure_costs.h"
#include "planner/mode/machine_of.h"

namespace tandem::engine {
namespace {

// The weight of an ended request decreases over this many later ones.
constexpr double kRemembered = 64;
// Before any request has ended: the expected output of a request without a short limit.
constexpr double kLikelyOutput = 256;

}  // namespace

void EngineLoop::make_planner() {
  row_limit_ = {options_.max_step_tokens, 0};
  if (!options_.costs) return;
  costs_ = options_.costs(*runner_, units_);
  start_planner(costs_);
}

// The compute unit has failed. Nothing can be measured, because pages are in use; the costs of the
// units are known.
void EngineLoop::make_planner_anew() {
  if (!planner_) return;
  const StatedCompute stated{options_.compute_id, static_cast<double>(runner_->weights().bytes), 0};
  planner::CostTable table = estimate_costs(stated, units_);
  for (const NamedUnit& unit : units_) {
    set_unit_costs(cost_of_unit(unit), entry_of(table, unit.id));
  }
  start_planner(table);
}

void EngineLoop::start_planner(const planner::CostTable& table) {
  const RowBytes bytes = row_bytes(geometry_);
  const planner::ServingShape shape{geometry_.num_layers, attention_kind(geometry_), bytes.to_unit,
                                    bytes.from_unit};
  std::vector<planner::ServingUnit> units;
  PlanOptions options;
  for (const NamedUnit& unit : units_) {
    units.push_back({unit.id, is_own_unit(*runner_, *unit.unit)});
    options.unit_ids.push_back(unit.id);
  }
  options.deals_shares = options_.follows_costs;
  options.num_sub_batches = options_.num_sub_batches;
  options.target_itl_s = options_.target_itl_s;
  options.max_running = options_.max_running;
  options.max_step_tokens = options_.max_step_tokens;
  options.compute_id = options_.compute_id;
  planner_ = std::make_unique<StepPlanner>(
      planner::machine_of(table, options_.compute_id, units, shape), std::move(options));
}

// The costs in the table for a unit of this name, such as a unit that returned; otherwise
// estimates.
planner::DeviceCost EngineLoop::cost_of_unit(const NamedUnit& unit) const {
  const planner::DeviceCost* known = costs_.find(unit.id);
  const bool attends =
      known != nullptr && known->attention_of(attention_kind(geometry_)) != nullptr;
  return attends ? *known : estimate_unit(unit.id, *unit.unit);
}

void EngineLoop::replan_unit(std::size_t index) {
  if (!planner_) return;
  const NamedUnit& unit = units_[index];
  const planner::DeviceCost cost = cost_of_unit(unit);
  planner_->set_unit(
      index, unit.id,
      planner::unit_of(cost, attention_kind(geometry_), is_own_unit(*runner_, *unit.unit)));
}

// Counts only requests that ended by themselves.
void EngineLoop::count_end(const Sequence& sequence) {
  const FinishReason reason = sequence.finish_reason();
  if (reason != FinishReason::kStop && reason != FinishReason::kLength) return;
  const double kept = ended_ >= kRemembered ? (kRemembered - 1) / kRemembered : 1;
  ended_ = kept * ended_ + 1;
  ended_outputs_ = kept * ended_outputs_ + sequence.num_generated();
}

// From the requests that ended recently; before that, from the limits of the requests.
double EngineLoop::expected_output() const {
  if (ended_ > 0) return std::max(1.0, ended_outputs_ / ended_);
  double outputs = 0, count = 0;
  const auto add = [&](const Sequence& sequence) {
    outputs +=
        std::min<double>(kLikelyOutput, sequence.most_tokens() - sequence.num_prompt_tokens());
    ++count;
  };
  for (const auto& sequence : running_) add(*sequence);
  waiting_.for_each(add);
  return count > 0 ? std::max(1.0, outputs / count) : kLikelyOutput;
}

planner::Outlook EngineLoop::outlook() const {
  planner::Outlook outlook;
  double prompts = 0, count = 0;
  const auto add = [&](const Sequence& sequence) {
    prompts += sequence.num_prompt_tokens();
    ++count;
  };
  for (const auto& sequence : running_) add(*sequence);
  waiting_.for_each(add);
  outlook.most_rows = std::clamp<double>(count, 1, options_.max_running);
  outlook.prompt = count > 0 ? std::max(1.0, prompts / count) : 1;
  outlook.output = expected_output();
  outlook.step_rows = options_.max_step_tokens;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const UnitPages pages = kv_.unit_pages(static_cast<int>(i));
    outlook.room.push_back(pages.alive ? static_cast<double>(pages.total) * geometry_.page_tokens
                                       : 0);
  }
  return outlook;
}

void EngineLoop::deal_shares() {
  if (!planner_) return;
  const Clock::TimePoint begin = options_.clock->now();
  if (!planner_->deal(outlook(), begin)) return;
  planner_->deal_took(options_.clock->now() - begin);
  constexpr double kLeastShare = 1e-9;
  const std::span<const double> shares = planner_->shares();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    kv_.set_share(static_cast<int>(i), std::max(kLeastShare, shares[i]));
  }
}

// [units] The tokens of the prompt whose rows come first; empty: no prompt is computed.
std::vector<double> EngineLoop::next_past() const {
  const Sequence* next = nullptr;
  for (const auto& sequence : running_) {
    if (sequence->num_tokens() - sequence->num_computed == 1) continue;
    if (next == nullptr || sequence->priority() < next->priority()) next = sequence.get();
  }
  std::vector<double> past;
  if (next == nullptr || next->num_computed == 0) return past;
  const PageTable& table = next->table;
  for (const std::uint32_t held : table.held) {
    past.push_back(static_cast<double>(next->num_computed) * held /
                   static_cast<double>(table.blocks.size()));
  }
  return past;
}

void EngineLoop::limit_rows() {
  if (!planner_ || options_.target_itl_s <= 0) return;
  planner_->begin();
  int num_decoding = 0;
  for (const auto& sequence : running_) {
    if (sequence->num_tokens() - sequence->num_computed != 1) continue;
    planner_->add({sequence->id(), sequence->num_computed, 1, true, 0}, sequence->table);
    ++num_decoding;
  }
  row_limit_ = planner_->limit_rows(num_decoding, next_past());
  if (planner_->status().target_missed) ++totals_.target_missed_steps;
}

bool EngineLoop::moves_pay() const {
  if (!planner_ || planner_->shares().empty()) return false;
  std::vector<double> tokens;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const UnitPages pages = kv_.unit_pages(static_cast<int>(i));
    tokens.push_back(static_cast<double>(pages.used) * geometry_.page_tokens);
  }
  return planner_->moves_pay(tokens, static_cast<double>(running_.size()), expected_output() / 2,
                             geometry_.page_tokens);
}

void EngineLoop::choose_mode(StepPlan& plan) {
  if (!planner_) return;
  planner_->begin();
  for (const StepItem& item : plan.items) planner_->add(item, running(item.id).table);
  if (plan.items.empty()) return;
  planner_->set_ways(runner_->ways());
  const int num_sub_batches = planner_->choose(plan.num_sub_batches);
  runner_->choose_way(planner_->way());
  if (num_sub_batches == plan.num_sub_batches) return;
  for (StepItem& item : plan.items) item.sub_batch = 0;
  plan.num_sub_batches = 1;
}

// The current counters.
StepMeasure EngineLoop::measure() const {
  StepMeasure now;
  if (!planner_) return now;
  now.compute_busy_s = runner_->stats().busy_seconds;
  for (const NamedUnit& unit : units_) now.unit_busy_s.push_back(unit.unit->stats().busy_seconds);
  return now;
}

void EngineLoop::learn(const StepMeasure& before) {
  StepMeasure step = measure();
  step.run_s = run_s_;
  step.parts = runner_->last_times();
  step.compute_busy_s -= before.compute_busy_s;
  for (std::size_t i = 0; i < step.unit_busy_s.size() && i < before.unit_busy_s.size(); ++i) {
    step.unit_busy_s[i] -= before.unit_busy_s[i];
  }
  planner_->learn(step, options_.clock->now());
  const PlanStatus& status = planner_->status();
  std::string mode = status.mode;
  if (status.way.early_queries) mode += ", early queries";
  if (status.way.rings) mode += ", rings";
  ++steps_by_mode_[mode];
}

// One track per device, with the parts of the step one after another. Spans end with the step, so
// their names state the prediction.
void EngineLoop::trace_prediction(trace::Timeline::Clock::time_point begin) {
  if (options_.timeline == nullptr) return;
  using TimelineClock = trace::Timeline::Clock;
  const TimelineClock::time_point end = TimelineClock::now();
  std::map<std::string, TimelineClock::time_point> ends;
  const auto put = [&](const std::string& device, const std::string& name, double seconds) {
    const TimelineClock::time_point from = ends.try_emplace(device, begin).first->second;
    const auto length =
        std::chrono::duration_cast<TimelineClock::duration>(std::chrono::duration<double>(seconds));
    const TimelineClock::time_point to = std::min(end, from + length);
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), ": %.3f ms", seconds * 1e3);
    options_.timeline->span(options_.timeline->track(device, "predicted"), name + text.data(), from,
                            to);
    ends[device] = to;
  };
  const PlanStatus& status = planner_->status();
  put("engine", status.mode, status.predicted_s);
  for (const PlanPart& part : status.parts) {
    if (!part.device.empty() && part.predicted_s > 0) put(part.device, part.name, part.predicted_s);
  }
}

}  // namespace tandem::engine
