// SPDX-License-Identifier: Apache-2.0
//
// EngineOptions: how an engine serves.
//
// Threads: plain data. Ownership: borrows cost table, clock and timeline.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "common/clock.h"
#include "engine/kv_cache/kv_cache.h"
#include "engine/speculation/speculation.h"
#include "engine/steps/executor_options.h"
#include "engine/weights/weight_loader.h"
#include "planner/cost/cost_model.h"
#include "planner/cost/step_cost.h"
#include "trace/timeline.h"

namespace tandem::engine {

class StepRunner;
struct NamedUnit;

struct EngineOptions {
  int max_running = 64;       // sequences in a step
  int max_waiting = 512;      // length of the queue; submit() returns kQueueFull if it is full
  int max_step_tokens = 256;  // rows per step: decode rows first, then prefill chunks
  // rows of one prompt while other sequences need rows; 0: half of max_step_tokens
  int max_prefill_rows = 0;
  int context_length = 0;  // limit of prompt + output; 0: the model's context
  // 2: attention of one half overlaps the dense layers of the other half. 0: the engine predicts
  // both and takes the faster one.
  int num_sub_batches = 1;
  Placement placement = Placement::kSequences;
  bool prefix_cache = true;
  // between callers; otherwise response times do not reveal the prompts of others
  bool share_prefixes = false;
  // Moves pages from full and slow units to others, between steps.
  bool kv_moves = false;
  // Host memory for the KV of preempted sequences. With `costs` it is used where copying takes less
  // time than computing again.
  std::size_t parking_bytes = 0;
  // A unit that does not answer within this time is lost.
  std::chrono::milliseconds device_timeout{10000};
  // How often a lost unit is tried again (Fallbacks::revive).
  std::chrono::milliseconds revive_interval{10000};
  // The interval in which an idle engine checks that its units are alive.
  std::chrono::milliseconds idle_check{1000};
  std::string compute_id = "cpu";  // name of the compute unit, for metrics
  // The bandwidth of the memory that holds the compute unit's weights; 0: unknown.
  double compute_bandwidth_bytes_per_s = 0;
  EarlyQuery early_query = EarlyQuery::kAuto;
  bool rings = true;  // see ExecutorOptions::rings
  WeightOptions weights;
  SpeculationOptions speculation;
  // Measures the costs of the devices. Called once, before the units hold any pages. Empty: the
  // engine predicts nothing, and the two options below have no effect.
  std::function<planner::CostTable(StepRunner& runner, std::span<const NamedUnit> units)> costs =
      {};
  // The shares of the units, page moves and the number of running sequences follow from the costs.
  bool follows_costs = false;
  // Prompts are split so that running streams get their next tokens within this time; 0: no target.
  double target_itl_s = 0;
  // Without costs: estimates the time of a step, to balance the sub-batches. Not null.
  const planner::StepCost* step_cost = &planner::cost_of_rows();
  // The clock of request times, of the loop's deadlines and of intervals. Not null. The executor,
  // its devices and the timeline use real time.
  const Clock* clock = &real_clock();
  trace::Timeline* timeline = nullptr;  // null: nothing is traced
  // Called on the engine's thread for problems that affect no request; may be empty.
  std::function<void(const std::string& text)> on_warning = {};
  // The same for events that are not problems, such as the return of a unit.
  std::function<void(const std::string& text)> on_notice = {};
};

}  // namespace tandem::engine
