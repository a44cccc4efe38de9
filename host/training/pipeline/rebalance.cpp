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

double migration_seconds(const RebalanceQuestion& question, const StagePlan& before,
                         const StagePlan& after) {
  const int ranks = std::max(before.shape.ranks, after.shape.ranks);
  std::vector<double> seconds(static_cast<std::size_t>(ranks));
  for (const LayerMove& move : moves_between(before, after)) {
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

// The fewest ranks that are fast enough.
StagePlan fewest_stages(const RebalanceQuestion& question) {
  const int most = question.most_ranks;
  const StagePlan all = best_stages(question, most).value_or(question.plan);
  const double slowest = (1 + *question.repack) * predicted_step(all, question.layers);
  for (int ranks = 1; ranks < most; ++ranks) {
    const auto fewer = best_stages(question, ranks);
    if (fewer && predicted_step(*fewer, question.layers) <= slowest) return *fewer;
  }
  return all;
}

bool is_same(const StagePlan& one, const StagePlan& other) {
  return one.shape.ranks == other.shape.ranks && one.cuts == other.cuts;
}

// A shortest way through the phases ahead; a place is a plan in a phase.
class WayAhead {
 public:
  explicit WayAhead(const RebalanceQuestion& question)
      : question_(question), plans_{question.plan} {
    phases_.push_back({question.steps, question.layers});
    for (const WorkAhead& later : question.later) {
      phases_.push_back({later.steps, with_frozen(question.layers, later.frozen)});
    }
    for (const Phase& phase : phases_) {
      RebalanceQuestion then = question;
      then.layers = phase.layers;
      const auto best = best_stages(then, question.plan.shape.ranks);
      const auto is_known = [&](const StagePlan& plan) { return best && is_same(plan, *best); };
      if (best && std::ranges::none_of(plans_, is_known)) plans_.push_back(*best);
    }
  }

  // The plan of the first phase.
  const StagePlan& first() const {
    std::vector<double> left(plans_.size());  // seconds from the next phase to the end, by plan
    for (std::size_t at = phases_.size(); at-- > 0;) left = from_phase(phases_[at], left);
    return plans_[best_after(0, left)];
  }

 private:
  struct Phase {
    std::uint64_t steps;
    std::vector<LayerProfile> layers;
  };

  std::vector<double> from_phase(const Phase& phase, const std::vector<double>& next) const {
    std::vector<double> left;
    for (std::size_t plan = 0; plan < plans_.size(); ++plan) {
      const std::size_t then = best_after(plan, next);
      const double share = plan == 0 ? 1 - question_.least_gain : 1;
      left.push_back(static_cast<double>(phase.steps) * share *
                         predicted_step(plans_[plan], phase.layers) +
                     next[then] + way(plan, then));
    }
    return left;
  }

  double way(std::size_t from, std::size_t to) const {
    return migration_seconds(question_, plans_[from], plans_[to]);
  }

  // The same plan where no other one is faster.
  std::size_t best_after(std::size_t plan, const std::vector<double>& left) const {
    std::size_t best = plan;
    for (std::size_t other = 0; other < plans_.size(); ++other) {
      if (left[other] + way(plan, other) < left[best] + way(plan, best)) best = other;
    }
    return best;
  }

  const RebalanceQuestion& question_;
  std::vector<Phase> phases_;
  std::vector<StagePlan> plans_;  // the present one is the first
};

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
  const auto fits = [&](const planner::LayerCost& cost) { return cost.bytes <= rules.stage_bytes; };
  if (!std::ranges::all_of(costs, fits)) return {};
  const planner::StageLoads loads(costs, rules);
  if (!planner::has_partition(loads)) return {};
  plan.cuts = planner::exact_partition(loads);
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

std::vector<LayerProfile> with_frozen(std::vector<LayerProfile> layers, int frozen) {
  for (int layer = 0; layer < frozen; ++layer) {
    StageSeconds& seconds = layers[static_cast<std::size_t>(layer)].seconds;
    seconds.backward = seconds.weights = 0;
  }
  return layers;
}

std::optional<NewStages> choose_stages(const RebalanceQuestion& question) {
  const bool repacks = question.repack.has_value();
  const StagePlan after = repacks ? fewest_stages(question) : WayAhead(question).first();
  if (is_same(after, question.plan)) return {};
  const int ranks = after.shape.ranks;
  const NewStages found{after.cuts, predicted_step(question.plan, question.layers),
                        predicted_step(after, question.layers),
                        migration_seconds(question, question.plan, after), ranks};
  if (!repacks) return found;
  double gain = found.old_step_seconds - found.new_step_seconds;
  // Fewer ranks may take that much longer; others must save more than noise.
  const bool is_fewer = ranks < question.plan.shape.ranks;
  gain += is_fewer ? *question.repack * found.new_step_seconds
                   : -question.least_gain * found.old_step_seconds;
  if (gain * static_cast<double>(question.steps) <= found.migration_seconds) return {};
  return found;
}

}  // namespace tandem::training
