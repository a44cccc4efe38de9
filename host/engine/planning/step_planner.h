// SPDX-License-Identifier: Apache-2.0
//
// StepPlanner: predicts the time of each step, chooses how it runs, and corrects its predictions.
//
// Before a step: deal() chooses how many sequences run and the share of new pages of each unit;
// limit_rows() chooses how many prompt rows fit next to the decode rows. After the scheduler: add()
// lists the step's rows, and choose() chooses the number of sub-batches and the way of the rows.
// After the step: learn(). A wrong prediction is corrected over about eight steps, and at once if
// the error is large (correction.h). Each way has its own correction of the whole step. Threads:
// the engine's. Errors: none. Cost: deal() calls choose_mode() tens of times, only when load or
// costs have changed; all others O(units).
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
#include "engine/steps/step_way.h"
#include "planner/cost/step_cost.h"
#include "planner/mode/choose_batch.h"
#include "planner/mode/step_time.h"

namespace tandem::engine {

struct PlanOptions {
  bool deals_shares = false;  // false: pages are dealt as the operator configured
  int num_sub_batches = 0;    // 0: the one with the shorter predicted time
  double target_itl_s = 0;    // target time between two tokens of a stream; 0: none
  int max_running = 64;
  int max_step_tokens = 256;
  std::string compute_id;
  std::vector<std::string> unit_ids;
};

// Measured times of one step, in seconds.
struct StepMeasure {
  double run_s = 0;                // time in the runner
  std::optional<StepTimes> parts;  // of the compute device, if it measures them
  double compute_busy_s = 0;
  std::vector<double> unit_busy_s;  // [units]
};

// The limit of rows in a step.
struct RowLimit {
  int step_rows = 0, prefill_rows = 0;
};

class StepPlanner {
 public:
  StepPlanner(planner::MachineModel machine, PlanOptions options);

  const planner::MachineModel& machine() const { return machine_; }
  std::size_t num_units() const { return machine_.units.size(); }
  // Adds a unit, or puts another one in its place.
  void set_unit(std::size_t index, const std::string& id, const planner::UnitModel& unit);

  // Returns whether the shares have changed. `room` of the outlook is 0 for lost units. After a
  // call that computed new shares, further calls do nothing for 50 times its duration, at most half
  // a second; a lost or returned unit ends this pause.
  bool deal(const planner::Outlook& outlook, Clock::TimePoint now);
  void deal_took(Clock::Duration time);
  std::span<const double> shares() const { return shares_; }  // [units], a sum of 1; may be empty
  int max_running() const { return max_running_; }
  // Returns whether it pays to move pages to where the shares place them. `tokens`: [units] held
  // now; `rest_steps`: the number of steps for which the sequences will probably stay.
  bool moves_pay(std::span<const double> tokens, double rows, double rest_steps,
                 int page_tokens) const;

  // Returns whether it takes less time to copy these pages [units] out and back in than to compute
  // their tokens again.
  bool parking_pays(std::span<const std::uint32_t> pages, double tokens) const;

  // Limits the rows next to the `num_decoding` rows that add() has listed. `past`: [units] tokens
  // of the prompt that runs next; empty: no prompt is computed.
  RowLimit limit_rows(int num_decoding, std::vector<double> past);
  int most_sub_batches() const;
  const planner::StepCost& split_cost() const { return split_cost_; }

  // The ways between which choose() may choose. Those that are known keep their corrections.
  void set_ways(const StepWays& ways);
  const StepWay& way() const { return ways_[way_].way; }

  void begin();  // empties the list of rows
  void add(const StepItem& item, const PageTable& table);
  // Returns 1 or 2 sub-batches, and sets way(). `num_sub_batches`: of the items as they were
  // listed.
  int choose(int num_sub_batches);
  const planner::StepTime& predicted() const { return predicted_; }

  void learn(const StepMeasure& measured, Clock::TimePoint now);
  // Takes the loop's own time outside of the runner.
  void learn_host(double seconds);
  const PlanStatus& status() const { return status_; }

 private:
  struct Unit {
    planner::UnitModel base;  // from the cost table
    Correction correction;
    double dealt_factor = 1;     // the correction at the last change of shares
    Clock::TimePoint worked_at;  // its last work or trial; zero: never
  };

  struct Way {
    StepWay way;
    Correction correction;
    Clock::TimePoint worked_at;  // its last step or trial; zero: never
  };

  void refresh(std::size_t unit);
  void sum_up_halves();
  bool uses_others() const;
  void consider(std::size_t way, bool halves, double& least_s);
  bool chooses_way() const { return ways_.size() > 1 && uses_others(); }
  void learn_way(const StepMeasure& measured, Clock::TimePoint now);
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
  StepWays known_ways_;
  std::vector<Way> ways_ = {Way()};
  std::size_t way_ = 0;         // of the last step
  std::size_t chosen_way_ = 0;  // while choose() compares
  planner::StepTime predicted_, candidate_;
  double merge_base_s_, sampling_base_s_, sampling_row_base_s_, causal_base_s_;
  double host_s_ = 0;  // the loop's own time in the last step
  PlanStatus status_;
};

}  // namespace tandem::engine
