// SPDX-License-Identifier: Apache-2.0
//
// Server: one compute group with its attention units, serving in virtual time.
//
// Decisions come from the engine's own code: plan_step() chooses what runs, KvCache places pages,
// choose_batch() computes the shares. Only the clock differs: a step takes the time that
// step_time() predicts. Requests are lengths without tokens, so they share no prefix. Threads: one.
// Ownership: borrows the model and the record. Cost: O(running x units) per planned step, O(units)
// per step that repeats the previous plan.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "engine/kv_cache/kv_cache.h"
#include "engine/scheduler/scheduler.h"
#include "planner/mode/choose_batch.h"
#include "planner/mode/chunk_rows.h"
#include "simulation/serving/load.h"
#include "simulation/serving/serving_options.h"
#include "simulation/serving/time_histogram.h"

namespace tandem::simulation {

struct EndedRequest {
  SimulatedRequest request;
  double end_s = 0;
};

// Sums over all servers of a run.
struct ServingRecord {
  TimeHistogram first_token, between_tokens, whole;
  std::uint64_t steps = 0, two_sub_batch_steps = 0;
  std::uint64_t requests = 0, prompt_tokens = 0, generated_tokens = 0, preemptions = 0;
  double busiest_batch = 0;         // most sequences in a step
  std::uint64_t batches = 0;        // sequences of all steps
  std::vector<EndedRequest> ended;  // in order of their ends, where they are kept

  double mean_batch() const {
    return steps > 0 ? static_cast<double>(batches) / static_cast<double>(steps) : 0;
  }
};

// The busy seconds of a device, by the resource that limited it.
struct DeviceUse {
  double busy = 0, memory_bound = 0, arithmetic_bound = 0, link = 0;
};

class Server {
 public:
  Server(const ServerModel& model, const ServingOptions& options, ServingRecord& record);

  // Errors: Error("simulate", ...) for a request that does not fit into any memory; the text says
  // what is missing.
  void submit(const SimulatedRequest& request);
  bool idle() const { return running_.empty() && waiting_.empty(); }
  int num_requests() const { return static_cast<int>(running_.size() + waiting_.size()); }
  double now() const { return now_; }
  void wait_until(double time) { now_ = std::max(now_, time); }
  // Returns the number of requests that ended. The step ends at now(). If the scheduler would plan
  // the same step again, it runs at once too, while now() is before `until` and no request ends.
  int step(double until);

  const DeviceUse& compute_use() const { return compute_use_; }
  const std::vector<DeviceUse>& unit_use() const { return unit_use_; }

 private:
  struct Sequence {
    SimulatedRequest request;
    int num_tokens = 0, num_computed = 0;
    double last_token_s = -1;
    std::uint64_t last_step = 0;
    engine::PageTable table;

    bool has_ended() const { return num_tokens >= request.prompt + request.output; }
  };

  Sequence& sequence(engine::SequenceId id) { return *slots_[id]; }
  int most_running() const;
  int num_known(const Sequence& sequence) const;  // tokens that have KV on admission
  void make_views();
  bool may_join(const Sequence& next, int prompt_rows) const;
  engine::StepPlan next_plan();
  [[noreturn]] void refuse_first() const;
  void apply(const engine::StepPlan& plan);
  struct OpenPages {
    int available = 0, total = 0;
  };
  OpenPages open_pages() const;
  planner::Outlook outlook() const;
  void deal_shares();
  bool open_units(const std::vector<double>& shares, double mean_tokens);
  bool needs_all_units(const SimulatedRequest& request) const;
  std::size_t num_expected(const Sequence& sequence) const;
  void expect_growth();
  std::vector<double> past_of_oldest_prompt() const;
  void size_chunks();
  void list_work(const engine::StepPlan& plan, int num_sub_batches);
  void add_item(const engine::StepItem& item, planner::SubBatch& batch);
  void let_time_pass(const engine::StepPlan& plan);
  void count_use(const planner::StepTime& time, std::span<const planner::SubBatch> batches);
  void sample(Sequence& sequence);
  int num_alike(const engine::StepPlan& plan) const;
  void repeat(int num_steps, double until);
  int end_sequences();

  const ServerModel& model_;
  const ServingOptions& options_;
  ServingRecord& record_;
  engine::SchedulerOptions scheduler_;
  planner::ConstantStepCost split_cost_;
  engine::KvCache kv_;
  std::vector<std::unique_ptr<Sequence>> slots_;  // by id; a slot is used again
  std::vector<engine::SequenceId> free_;
  std::vector<engine::SequenceId> running_;  // in order of admission
  std::deque<engine::SequenceId> waiting_;
  std::vector<engine::WaitingView> waiting_views_;
  std::vector<engine::RunningView> running_views_;
  std::vector<planner::SubBatch> whole_, halves_;
  planner::StepTime time_, time_of_halves_;
  std::vector<bool> is_open_;                              // [units] may get new pages
  int pages_of_shares_ = std::numeric_limits<int>::max();  // pages of the units with a share
  DeviceUse compute_use_;
  std::vector<DeviceUse> unit_use_;
  double now_ = 0;
  std::uint64_t num_steps_ = 0;
  planner::Outlook dealt_{0, 0, 0};  // the outlook at the last change of shares
  std::vector<std::size_t> growth_;  // [units] blocks
  std::uint64_t num_sampled_ = 0;
  double ended_ = 0;
};

}  // namespace tandem::simulation
