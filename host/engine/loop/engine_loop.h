// SPDX-License-Identifier: Apache-2.0
//
// EngineLoop: all state of an engine, and one iteration of it.
//
// step(): views -> plan_step() -> pages -> StepRunner -> sampling -> events. The caller takes the
// events afterwards, so the pages of a request are free before its end is reported. Logits that
// cannot be sampled end only their own request. Threads: one at a time. Errors: none escape step().
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/kv_cache/kv_cache.h"
#include "engine/kv_cache/kv_mover.h"
#include "engine/kv_cache/kv_parking.h"
#include "engine/loop/caller_queues.h"
#include "engine/loop/engine_options.h"
#include "engine/loop/engine_status.h"
#include "engine/loop/named_unit.h"
#include "engine/loop/sequence.h"
#include "engine/loop/sequence_status.h"
#include "engine/planning/step_planner.h"
#include "engine/scheduler/scheduler.h"
#include "engine/steps/step_runner.h"
#include "model/model.h"

namespace tandem::engine {

struct Delivery {
  EventSink sink;
  RequestEvent event;
};

// A request that is not in the loop yet.
struct Newcomer {
  std::string caller;
  int num_tokens = 0;
};

// Replacements after a loss (see Fallbacks). When a unit is lost, the sequences with pages there
// release all their pages and return to the head of the queue; the interrupted step does not count,
// because no sequence has advanced. If no unit remains, or the remaining units are too small for an
// accepted request, the loop makes the fallback; without one, it lowers the limits of requests.
// It rests as soon as the other units can hold what they could at the start, and all accepted
// requests. When the runner fails, a fallback runner takes over: units that share its queue are
// lost, the others keep their pages. If nothing can compute or attend any more, every request ends
// with kError, then and later.
struct LoopFallbacks {
  std::function<NamedUnit()> attention;
  std::function<std::unique_ptr<StepRunnerSource>()> compute;
  // Lost units are given away by take_lost_units(), to be probed and made again elsewhere.
  bool lost_units_return = false;
};

class EngineLoop {
 public:
  // Errors: Error when the options and the units do not fit the model, and those of compute.make().
  EngineLoop(const model::Model& model, StepRunnerSource& compute, std::vector<NamedUnit> units,
             const EngineOptions& options, LoopFallbacks fallbacks);

  void add(std::unique_ptr<Sequence> sequence);
  void cancel(RequestId id);
  void cancel_all();
  bool idle() const { return waiting_.empty() && running_.empty(); }
  void step();
  // Checks between steps whether units are alive. Returns true if one is lost. A step also detects
  // the loss of units with pages of running sequences.
  enum class UnitsAsked { kAll, kUnused };
  bool check_units(UnitsAsked asked = UnitsAsked::kAll);

  std::vector<NamedUnit> take_lost_units() { return std::exchange(lost_units_, {}); }
  // A unit with the id of a lost one takes its place. A unit that does not fit is refused with a
  // warning.
  void return_unit(NamedUnit unit);

  const LoadedWeights& weights() const { return loaded_weights_; }
  int max_request_tokens() const { return max_request_tokens_; }
  int num_waiting() const { return waiting_.size(); }
  EngineStatus status() const;
  std::vector<SequenceStatus> sequences() const;  // running ones first
  std::vector<Delivery> take_deliveries() { return std::exchange(deliveries_, {}); }

  // Returns the requests that have arrived and are not added yet. Called between the layers of a
  // step. The step ends early if another caller has too large a share of it. Set before the first
  // step; may be empty.
  std::function<std::vector<Newcomer>()> newcomers;
  // Called for every result and for every end of a sequence; set before the first step; may be
  // empty.
  std::function<void(Sequence&)> on_token, on_end;

 private:
  trace::Span traced(const char* name) const { return {options_.timeline, track_, name}; }
  void check_unit(const NamedUnit& unit) const;
  void add_unit(NamedUnit unit);
  void replace_lost(NamedUnit unit);
  void move_pages();
  StepPlan make_plan();
  PrefixKey salt_of(const std::string& caller);
  void view_running();
  void view_waiting();
  void view_waiting(const CallerQueue& caller, int num_most);
  bool may_find_prefix_soon(const Sequence& sequence, int num_cached) const;
  bool uses_lost(const PageTable& table) const;
  void park(const Sequence& sequence);
  int num_kept_of(const Sequence& sequence, int num_cached) const;
  bool restore(Sequence& sequence);
  void restore(StepPlan& plan);
  bool lost_a_unit_in_parking();
  void add_drafts(StepPlan& plan);
  void reserve_drafts(StepItem& item);
  int num_kept(const StepItem& item);
  int num_worse_running(const CallerQueue& caller) const;
  bool any_overtakes() const;
  std::size_t num_expected(const Sequence& sequence) const;
  void expect_growth();
  void count_passes(SequenceId admitted);
  void count_rows(std::span<const StepItem> items);
  SchedulerOptions scheduler_options() const;
  bool interrupts();
  bool interrupts(const Newcomer& newcomer);
  void apply(StepPlan& plan);
  bool admit(SequenceId id);
  void list_items(std::span<const StepItem> items);
  double seconds_since(Clock::TimePoint begin) const;
  void make_planner();
  void make_planner_anew();
  void start_planner(const planner::CostTable& table);
  void count_end(const Sequence& sequence);
  void replan_unit(std::size_t index);
  planner::DeviceCost cost_of_unit(const NamedUnit& unit) const;
  planner::Outlook outlook() const;
  double expected_output() const;
  void deal_shares();
  void limit_rows();
  std::vector<double> next_past() const;
  bool moves_pay() const;
  void choose_mode(StepPlan& plan);
  StepMeasure measure() const;
  void learn(const StepMeasure& before);
  void trace_prediction(trace::Timeline::Clock::time_point begin);
  void execute(const StepPlan& plan);
  bool run(std::span<const StepItem> items);
  void run_alone(std::span<const StepItem> items, const std::string& message);
  void take(const StepItem& item, const std::function<void(Sequence&)>& result);
  void advance(const StepItem& item);
  void fail_step(const std::string& message);
  void warn(const std::string& text) const;
  void notify(const std::string& text) const;
  Sequence& running(SequenceId id);
  void requeue(std::size_t index);
  void requeue_running(SequenceId id);
  StepShape step_shape() const;
  // `silent`: those of the units that gave no answer.
  void handle_lost(const std::vector<int>& units, const std::vector<int>& silent = {},
                   bool may_return = true);
  void give_away(NamedUnit& lost);
  enum class Answer { kGiven, kMissing, kDead };
  Answer ask(const NamedUnit& asked);
  bool replace_compute(const std::string& message);
  void restore_capacity();
  std::string add_fallback();
  int longest_request() const;
  void rest_fallback();
  bool is_resting(std::size_t index) const {
    return fallback_rests_ && static_cast<int>(index) == fallback_;
  }
  void update_limit();
  void refuse_oversized();
  void fail_all(const std::string& message);
  void stop_serving(const std::string& message);
  void deliver(Sequence& sequence);
  void remove_finished();
  void end_waiting();
  UnitStatus status_of(std::size_t index) const;

  const model::ModelConfig& config_;
  EngineOptions options_;
  LoopFallbacks fallbacks_;
  device::AttentionGeometry geometry_;
  KvCache kv_;
  KvMover mover_;
  KvParking parking_;
  std::vector<int> lost_while_parking_;
  std::unique_ptr<Speculation> speculation_;      // null: no guesses
  std::unique_ptr<StepRunner> runner_, retired_;  // retired: a stuck unit may use its buffers
  const LoadedWeights loaded_weights_;
  std::vector<NamedUnit> units_;                 // after the runners: units are destroyed first
  std::vector<NamedUnit> lost_units_;            // until take_lost_units()
  std::map<std::string, std::uint64_t> losses_;  // number of losses, by unit id
  std::map<std::string, device::AttentionStats> past_stats_;  // of units that were replaced, by id
  // the time since which a unit has not answered, by id
  std::map<std::string, Clock::TimePoint> silent_since_;
  int fallback_ = -1;            // the index of the fallback unit; -1: none was made
  bool fallback_rests_ = false;  // it holds no pages until a unit is lost again
  bool all_units_lost_ = false;  // whether this is why the loop is broken

  std::unique_ptr<StepPlanner> planner_;  // null if the engine has no costs
  planner::CostTable costs_;              // the table at the start
  double likely_output_ = 0;              // at the last admission
  RowLimit row_limit_;                    // of the current step
  double ended_ = 0, ended_outputs_ = 0;  // recently ended requests, and their output tokens
  double run_s_ = 0;                      // time in the runner, in the current step
  std::map<std::string, std::uint64_t> steps_by_mode_;
  bool runs_alone_ = false;  // the items of a refused step run alone, so predictions do not apply

  CallerQueues waiting_;
  std::map<std::string, PrefixKey> salts_;          // a salt for every caller so far
  std::vector<std::unique_ptr<Sequence>> running_;  // in order of admission
  std::vector<Delivery> deliveries_;
  int first_limit_ = 0;         // the limit of a request at the start
  int max_request_tokens_ = 0;  // not changed when the last unit is lost
  std::string broken_;          // why nothing can run; empty while steps can run
  std::string idle_error_;      // the last error of check_units(), which is reported once
  EngineStatus totals_;
  trace::TrackId track_;

  std::vector<WaitingView> waiting_views_;
  std::vector<RunningView> running_views_;
  std::vector<CallerView> caller_views_;
  std::vector<const Sequence*> prompts_;  // sequences of the plan that have rows to compute
  std::vector<RunnerItem> runner_items_;
  std::span<const StepItem> interruptible_;  // the items of a step that may end early
  bool interrupted_ = false;                 // whether that step ended early
  bool may_interrupt_ = true;                // a whole step has run since the last interruption
  bool only_decodes_ = false;                // every item of the step has one known token
  int num_failed_steps_ = 0;                 // consecutive failed steps, outside the runner
  std::uint64_t preemptions_seen_ = 0;       // number of preemptions at the last move_pages()
};

}  // namespace tandem::engine
