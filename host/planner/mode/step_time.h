// SPDX-License-Identifier: Apache-2.0
//
// step_time: predicts the time of a step on a compute device and its attention units.
//
// A sub-batch passes through all layers. In each layer the compute device runs the dense layers and
// attends to its own pages, while the units attend to theirs; then the results are merged. With two
// sub-batches the units work on one while the device computes the other, and the weights are read
// twice. The function simulates layer by layer until the times per layer repeat. Threads: pure
// functions. Errors: none. Source: ARCHITECTURE.md, "One decode step".
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
  // For early queries, per layer: the time of the compute device for one more submission, and the
  // duration of a submission that only appends.
  double early_submit_s = 0, append_s = 0;
  friend bool operator==(const UnitModel&, const UnitModel&) = default;
};

struct MachineModel {
  DeviceCost compute;
  int num_layers = 1;
  double bytes_to_unit = 0, bytes_from_unit = 0;  // of one row of one layer
  double causal_pair_s = 0;  // a row with a token of its own chunk, of one layer
  // The part of a dense layer that remains when the queries are known. 0: the units always get
  // queries, keys and values together.
  double early_share = 0;
  double host_s = 0;  // of the host, such as scheduling, per step
  std::vector<UnitModel> units;
};

struct SubBatch {
  double rows = 0;                   // through the dense layers
  double sampled = 0;                // rows that produce a token
  double causal_pairs = 0;           // (row, token of the same chunk) pairs
  std::vector<AttentionWork> units;  // [units]

  void clear();  // keeps the number of units
};

// Seconds of the whole step. Parts may overlap, so they do not add up to the total.
struct StepTime {
  double total = 0;
  double dense = 0, own_attention = 0, merge = 0, sampling = 0, host = 0;
  double waiting = 0;         // the compute device has nothing to do
  std::vector<double> units;  // [units] busy
  std::vector<double> links;  // [units] rows in transfer
  bool early_queries = false;

  double compute_busy() const { return dense + own_attention + merge + sampling; }
};

// One or two sub-batches with rows. `time` is overwritten; its memory is used again. With early
// queries, the other units attend to earlier tokens while keys and values are projected. The
// compute device attends to the new token, which is one more partial.
void step_time(const MachineModel& machine, std::span<const SubBatch> batches, bool early_queries,
               StepTime& time);
// The same, with early queries if that takes less time.
void step_time(const MachineModel& machine, std::span<const SubBatch> batches, StepTime& time);
StepTime step_time(const MachineModel& machine, std::span<const SubBatch> batches);

}  // namespace tandem::planner
