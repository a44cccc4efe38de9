// SPDX-License-Identifier: Apache-2.0
//
// The rank with the most to send and receive decides how long a migration takes.
#include "training/pipeline/rebalance.h"

#include <algorithm>
#include <cmath>

#include "planner/pipeline/exact_partition.h"
#include "training/pipeline/migration.h"

namespace tandem::training {
namespace {

planner::Cuts best_cuts(const RebalanceQuestion& question) {
  std::vector<planner::LayerCost> costs;
  for (const LayerProfile& layer : question.layers) {
    const double seconds = layer.seconds.forward + layer.seconds.backward;
    costs.push_back({static_cast<std::int64_t>(std::llround(seconds * 1e12)), 0});
  }
  return planner::exact_partition(
      planner::StageLoads(costs, {.num_stages = question.plan.shape.stages()}));
}

double migration_seconds(const RebalanceQuestion& question, const StagePlan& after) {
  std::vector<double> seconds(static_cast<std::size_t>(question.plan.shape.ranks));
  for (const LayerMove& move : moves_between(question.plan, after)) {
    const auto layer = static_cast<std::size_t>(move.layer);
    const double bytes = static_cast<double>(question.layers[layer].bytes);
    const double cost = bytes / question.bytes_per_second + question.seconds_per_layer;
    seconds[static_cast<std::size_t>(move.from)] += cost;
    seconds[static_cast<std::size_t>(move.to)] += cost;
  }
  return *std::ranges::max_element(seconds);
}

}  // namespace

double predicted_step(const StagePlan& plan, const std::vector<LayerProfile>& layers) {
  std::vector<StageSeconds> stages(static_cast<std::size_t>(plan.shape.stages()));
  for (int layer = 0; layer < plan.num_layers; ++layer) {
    StageSeconds& stage = stages[static_cast<std::size_t>(plan.stage_of(layer))];
    const StageSeconds& own = layers[static_cast<std::size_t>(layer)].seconds;
    stage.forward += own.forward;
    stage.backward += own.backward;
    stage.weights += own.weights;
  }
  return step_seconds(plan.shape, stages);
}

std::optional<NewStages> choose_stages(const RebalanceQuestion& question) {
  StagePlan after = question.plan;
  after.cuts = best_cuts(question);
  if (after.cuts == question.plan.cuts) return {};
  NewStages found{after.cuts, predicted_step(question.plan, question.layers),
                  predicted_step(after, question.layers), migration_seconds(question, after)};
  const double gain =
      (found.old_step_seconds - found.new_step_seconds) * static_cast<double>(question.steps);
  if (gain <= found.migration_seconds) return {};
  return found;
}

}  // namespace tandem::training
