// SPDX-License-Identifier: Apache-2.0
//
// step_time: how long a step takes on a compute device and its attention units.
//
// A sub-batch goes through every layer: dense layers and attention over the device's own pages on
// the compute device, attention over other pages on their units at the same time, then the merge.
// Two sub-batches take turns: the units work on one while the device computes the other, and the
// weights are read twice. The layers are walked through one by one until their rhythm is regular.
// Threads: pure functions. Errors: none. Source: the flow of ARCHITECTURE.md, "One decode step".
#pragma once

#include <span>
#include <vector>

#include "planner/cost/cost_model.h"

namespace tandem::planner {

struct UnitModel {
  AttentionCost attention;
  LinkCost to_unit, from_unit;
  double launch_s = 0;
  double page_move_s = 0;  // one page out to host memory, or in
  bool is_own = false;     // memory of the compute device, in its queue; at most one is
  friend bool operator==(const UnitModel&, const UnitModel&) = default;
};

struct MachineModel {
  DeviceCost compute;
  int num_layers = 1;
  double bytes_to_unit = 0, bytes_from_unit = 0;  // of one row of one layer
  double causal_pair_s = 0;  // a row with a token of its own chunk, of one layer
  // Part of a dense layer that is still to come when the queries are known (early queries); 0: the
  // units get queries, keys and values together.
  double early_share = 0;
  double host_s = 0;  // scheduling and the like, once per step
  std::vector<UnitModel> units;
};

struct SubBatch {
  double rows = 0;                   // through the dense layers
  double sampled = 0;                // rows with a token
  double causal_pairs = 0;           // of rows with tokens of the same chunk
  std::vector<AttentionWork> units;  // [units]

  void clear();  // keeps the number of units
};

// Seconds of the whole step. Parts may overlap, so they do not add up to the total.
struct StepTime {
  double total = 0;
  double dense = 0, own_attention = 0, merge = 0, sampling = 0, host = 0;
  double waiting = 0;         // the compute device has nothing to do
  std::vector<double> units;  // [units] busy
  std::vector<double> links;  // [units] rows on their way

  double compute_busy() const { return dense + own_attention + merge + sampling; }
};

// One or two sub-batches with rows. `time` is overwritten; its memory is used again.
void step_time(const MachineModel& machine, std::span<const SubBatch> batches, StepTime& time);
StepTime step_time(const MachineModel& machine, std::span<const SubBatch> batches);

}  // namespace tandem::planner
