// SPDX-License-Identifier: Apache-2.0
//
// StepPlanner: predicts the steps of a loop, chooses how they run, and learns from what they took.
//
// Before a step: deal() says how many sequences run and which share of new pages each unit gets;
// limit_rows() says how many rows of prompts fit beside decode rows. Behind the scheduler: add()
// lists the step's rows, choose() says in how many sub-batches they run. Behind the step: learn().
// A part that is predicted wrongly is corrected over some eight steps, and at once where it is far
// off (correction.h). Threads: the engine's. Errors: none. Cost: deal():
// tens of choose_mode(), and only where load or costs have changed; others O(units).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/clock.h"
#include "engine/kv_cache/kv_cache.h"
#include "engine/planning/correction.h"
#include "engine/planning/plan_status.h"
#include "engine/scheduler/step_plan.h"
#include "engine/steps/step_times.h"
#include "planner/cost/step_cost.h"
#include "planner/mode/choose_batch.h"
#include "planner/mode/step_time.h"

namespace tandem::engine {

struct PlanOptions {
  bool deals_shares = false;  // else pages are dealt as the operator says
  int num_sub_batches = 0;    // 0: whichever is predicted to take less time
  double target_itl_s = 0;    // between two tokens of a stream; 0: none
  int max_running = 64;
  int max_step_tokens = 256;
  std::string compute_id;
  std::vector<std::string> unit_ids;
};

// Of one step, in seconds.
struct StepMeasure {
  double run_s = 0;                // the runner
  std::optional<StepTimes> parts;  // of the compute device, where it tells
  double compute_busy_s = 0;
  std::vector<double> unit_busy_s;  // [units]
};

// Rows of a step.
struct RowLimit {
  int step_rows = 0, prefill_rows = 0;
};

class StepPlanner {
 public:
  StepPlanner(planner::MachineModel machine, PlanOptions options);

  const planner::MachineModel& machine() const { return machine_; }
  std::size_t num_units() const { return machine_.units.size(); }
  // A unit is added, or another one takes its place.
  void set_unit(std::size_t index, const std::string& id, const planner::UnitModel& unit);

  // Whether shares have changed. `room` of the outlook: 0 for lost units. A call that deals rests
  // for 50 times what it took, but half a second at most, and not where a unit is lost or back.
  bool deal(const planner::Outlook& outlook, Clock::TimePoint now);
  void deal_took(Clock::Duration time);
  std::span<const double> shares() const { return shares_; }  // [units], a sum of 1; may be empty
  int max_running() const { return max_running_; }
  // Whether it pays to bring pages where the shares say. `tokens`: [units] held now; `rest_steps`:
  // how long the sequences are expected to stay.
  bool moves_pay(std::span<const double> tokens, double rows, double rest_steps,
                 int page_tokens) const;

  // Whether copying these pages, [units], out and in again takes less time than computing their
  // tokens again.
  bool parking_pays(std::span<const std::uint32_t> pages, double tokens) const;

  // Beside the `num_decoding` rows that add() has listed. `past`: [units] tokens of the prompt that
  // runs next; empty: none are computed.
  RowLimit limit_rows(int num_decoding, std::vector<double> past);
  int most_sub_batches() const;
  const planner::StepCost& split_cost() const { return split_cost_; }

  void begin();  // a list without rows
  void add(const StepItem& item, const PageTable& table);
  // 1 or 2 sub-batches; the items were listed with their sub-batches.
  int choose(int num_sub_batches);
  const planner::StepTime& predicted() const { return predicted_; }

  void learn(const StepMeasure& measured, Clock::TimePoint now);
  // The loop's own time around a step.
  void learn_host(double seconds);
  const PlanStatus& status() const { return status_; }

 private:
  struct Unit {
    planner::UnitModel base;  // as the table has it
    Correction correction;
    double dealt_factor = 1;     // when shares were dealt
    Clock::TimePoint worked_at;  // also when it was tried again; zero: never
  };

  void refresh(std::size_t unit);
  void sum_up_halves();
  bool uses_others() const;
  void forget_idle(Clock::TimePoint now);
  bool has_dealt_units(const planner::Outlook& outlook) const;
  bool is_near_dealt(const planner::Outlook& outlook) const;
  double causal_predicted() const;
  double unit_predicted(std::size_t unit) const;
  double compute_measured(const StepMeasure& measured) const;
  void learn_compute(const StepMeasure& measured);
  void learn_units(const StepMeasure& measured, Clock::TimePoint now);
  void list_parts(const StepMeasure& measured);

  planner::MachineModel machine_;
  const PlanOptions options_;
  std::vector<std::string> ids_;
  std::vector<Unit> units_;
  Correction dense_, causal_, merge_, sampling_;
  planner::ConstantStepCost split_cost_;
  std::vector<double> shares_;
  int max_running_;
  planner::Outlook dealt_{0, 0, 0};
  bool costs_changed_ = false;
  Clock::TimePoint rests_until_{};

  std::vector<planner::SubBatch> whole_, halves_;
  bool runs_halves_ = false;
  planner::StepTime predicted_, time_of_halves_;
  double merge_base_s_, sampling_base_s_, causal_base_s_;
  double host_s_ = 0;  // around the last step
  PlanStatus status_;
};

}  // namespace tandem::engine
