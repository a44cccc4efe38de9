// SPDX-License-Identifier: Apache-2.0
//
// The rank with the most to send and receive decides how long a migration takes.
#include "training/pipeline/rebalance.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "planner/pipeline/exact_partition.h"
#include "training/pipeline/migration.h"

namespace tandem::training {
namespace {

double migration_seconds(const RebalanceQuestion& question, const StagePlan& after) {
  const int ranks = std::max(question.plan.shape.ranks, after.shape.ranks);
  std::vector<double> seconds(static_cast<std::size_t>(ranks));
  for (const LayerMove& move : moves_between(question.plan, after)) {
    const auto layer = static_cast<std::size_t>(move.layer);
    const double bytes = static_cast<double>(question.layers[layer].bytes);
    const double cost = bytes / question.bytes_per_second + question.seconds_per_layer;
    seconds[static_cast<std::size_t>(move.from)] += cost;
    seconds[static_cast<std::size_t>(move.to)] += cost;
  }
  return *std::ranges::max_element(seconds);
}

std::vector<StageSeconds> stages_of(const StagePlan& plan,
                                    const std::vector<LayerProfile>& layers) {
  std::vector<StageSeconds> stages(static_cast<std::size_t>(plan.shape.stages()));
  for (int layer = 0; layer < plan.num_layers; ++layer) {
    StageSeconds& stage = stages[static_cast<std::size_t>(plan.stage_of(layer))];
    const StageSeconds& own = layers[static_cast<std::size_t>(layer)].seconds;
    stage.forward += own.forward;
    stage.backward += own.backward;
    stage.weights += own.weights;
  }
  return stages;
}

bool allows(const PipelineShape& shape, int num_layers) {
  if (num_layers < shape.stages()) return false;
  return shape.order != PassOrder::kInterleaved || shape.micro_batches % shape.ranks == 0;
}

// The fewest ranks that are fast enough; all of them where nothing is said of fewer.
StagePlan wanted_stages(const RebalanceQuestion& question) {
  const bool repacks = question.repack.has_value();
  const int most = repacks ? question.most_ranks : question.plan.shape.ranks;
  const StagePlan all = best_stages(question, most).value_or(question.plan);
  if (!repacks) return all;
  const double slowest = (1 + *question.repack) * predicted_step(all, question.layers);
  for (int ranks = 1; ranks < most; ++ranks) {
    const auto fewer = best_stages(question, ranks);
    if (fewer && predicted_step(*fewer, question.layers) <= slowest) return *fewer;
  }
  return all;
}

}  // namespace

std::optional<StagePlan> best_stages(const RebalanceQuestion& question, int ranks) {
  StagePlan plan = question.plan;
  plan.shape.ranks = ranks;
  if (!allows(plan.shape, plan.num_layers)) return {};
  std::vector<planner::LayerCost> costs;
  for (const LayerProfile& layer : question.layers) {
    const double seconds = layer.seconds.forward + layer.seconds.backward;
    costs.push_back({static_cast<std::int64_t>(std::llround(seconds * 1e12)),
                     static_cast<std::int64_t>(layer.bytes)});
  }
  planner::StageRules rules{plan.shape.stages()};
  if (question.rank_bytes != planner::kNoStageLimit) {
    rules.stage_bytes = question.rank_bytes / plan.shape.chunks;
  }
  try {
    plan.cuts = planner::exact_partition(planner::StageLoads(costs, rules));
  } catch (const Error&) {
    return {};  // they do not fit the memory
  }
  return plan;
}

double predicted_step(const StagePlan& plan, const std::vector<LayerProfile>& layers) {
  return step_seconds(plan.shape, stages_of(plan, layers));
}

double bottleneck_seconds(const StagePlan& plan, const std::vector<LayerProfile>& layers) {
  std::vector<double> ranks(static_cast<std::size_t>(plan.shape.ranks));
  const std::vector<StageSeconds> stages = stages_of(plan, layers);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    ranks[stage % ranks.size()] += stages[stage].forward + stages[stage].backward;
  }
  return *std::ranges::max_element(ranks);
}

std::optional<NewStages> choose_stages(const RebalanceQuestion& question) {
  const StagePlan after = wanted_stages(question);
  const int ranks = after.shape.ranks, before = question.plan.shape.ranks;
  if (ranks == before && after.cuts == question.plan.cuts) return {};
  const NewStages found{after.cuts, predicted_step(question.plan, question.layers),
                        predicted_step(after, question.layers), migration_seconds(question, after),
                        ranks};
  double gain = found.old_step_seconds - found.new_step_seconds;
  // Fewer ranks may take that much longer.
  if (ranks < before) gain += question.repack.value_or(0) * found.new_step_seconds;
  if (gain * static_cast<double>(question.steps) <= found.migration_seconds) return {};
  return found;
}

}  // namespace tandem::training
