// SPDX-License-Identifier: Apache-2.0
//
// plan_split: divides a model among compute devices so that a step is shortest and the memories
// suffice.
//
// Layers are operators of a chain: the embedding, the layers, the output projection. place_graph()
// places them with the times of every device; equal layers are then made contiguous, which changes
// no time. The alternative divides every matrix in equal parts; it is chosen if its predicted time
// is shorter. A device may get nothing. Threads: pure. Errors: Error("compute", ...) with the bytes
// that do not fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/cost/cost_model.h"

namespace tandem::planner {

struct SplitModel {
  int num_layers = 0;
  std::int64_t layer_bytes = 0;      // weights of a layer, and the KV that is kept beside them
  std::int64_t embedding_bytes = 0;  // on the device of the first layer
  std::int64_t output_bytes = 0;     // on that of the last layer; 0: the embedding serves as output
  std::int64_t fixed_bytes = 0;      // on every device: activations, logits
  std::int64_t row_bytes = 0;        // of one row between two layers
  bool divides = false;              // whether every matrix can be divided among all devices
  double output_share = 0;           // of the dense time that the output projection takes
};

struct SplitDevice {
  DeviceCost cost;  // dense_by_rows: all layers and the output projection on this device alone
  std::int64_t memory_bytes = 0;
  bool computes_apart = false;  // works while others do; the CPU works inside its calls
};

// The work for which a plan is made: `answers` steps of one row, and one step of `prompt` rows.
struct SplitLoad {
  int answers = 64;
  int prompt = 64;
};

struct SplitPlan {
  bool by_layers = true;               // else every matrix is divided among all devices
  std::vector<int> devices;            // in the order of their layers
  std::vector<int> layers_per_device;  // [devices.size()], each at least 1
  double seconds = 0;                  // of the load
  double equal_seconds = 0;   // of layers in equal shares, in the given order; memory is ignored
  double matrix_seconds = 0;  // of divided matrices; 0: they cannot be divided, or do not fit
};

SplitPlan plan_split(const SplitModel& model, const std::vector<SplitDevice>& devices,
                     const SplitLoad& load);

// The time of the load with these shares.
double split_seconds(const SplitModel& model, const std::vector<SplitDevice>& devices,
                     const SplitLoad& load, const SplitPlan& plan);

}  // namespace tandem::planner
