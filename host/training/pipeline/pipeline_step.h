// SPDX-License-Identifier: Apache-2.0
//
// run_step: the forward and backward passes of a step on one rank of a pipeline.
//
// Adds the gradients of all micro-batches to those of the rank's layers, in the order of the
// micro-batches: the bits are those of a run on one rank, for any stages and any schedule. A tied
// matrix gets the output's and the embedding's gradient of a micro-batch as one sum, so the last
// stage sends [vocabulary, width] per micro-batch to the first. Frozen layers make forward passes
// only, and no gradient goes to them. Cost: an activation and its gradient per boundary and
// micro-batch. Threads: one. Errors: those of the computation; TransportError.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "planner/pipeline/stage_loads.h"
#include "training/pipeline/pass_order.h"
#include "training/pipeline/stage_messages.h"
#include "training/pipeline/trained_layer.h"

namespace tandem::training {

using RankLayers = std::map<int, std::unique_ptr<TrainedLayer>>;  // by number of the layer

// The layers of each stage, and the rank of each stage.
struct StagePlan {
  PipelineShape shape;
  planner::Cuts cuts;  // [stages - 1]: the first layer of the second stage, ...
  int num_layers = 0;

  int begin(int stage) const { return stage == 0 ? 0 : cuts[static_cast<std::size_t>(stage) - 1]; }
  int end(int stage) const { return stage + 1 == shape.stages() ? num_layers : begin(stage + 1); }
  int stage_of(int layer) const;
  int rank_of(int layer) const { return stage_of(layer) % shape.ranks; }
};

// What the times of layers are of. Ranks that share processors measure their own thread's time.
enum class LayerClock : std::uint8_t { kWall, kThread };

struct StepInput {
  const StagePlan& plan;
  int rank = 0;
  int width = 0;          // of an activation
  int first_trained = 0;  // layers before it are frozen
  float scale = 1;        // of the losses
  float depth = 1;        // share of tokens of blocks with a router
  float skew = 0;         // of the routing to experts
  LayerClock clock = LayerClock::kWall;
  std::function<TokenBatch(int micro_batch)> batch;  // valid until the next call
  std::function<void()> after_pass = {};
};

struct StepOutcome {
  std::vector<double> losses;           // [micro-batches] sums in nats, on the last stage's rank
  std::map<int, StageSeconds> seconds;  // by own layer, of all micro-batches
  double waited_seconds = 0;            // for other ranks
  std::uint64_t readings = 0;           // of the clock, for the times
};

double seconds_now(LayerClock clock);

// What one reading of the clock takes.
double seconds_of_reading(LayerClock clock);

StepOutcome run_step(const StepInput& input, RankLayers& layers, StageMessages& messages);

}  // namespace tandem::training
