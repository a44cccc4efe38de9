// SPDX-License-Identifier: Apache-2.0
//
// Phases one after the other, for each way to divide the layers.
#include "planner/pipeline/pipeline_study.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "common/error.h"
#include "planner/pipeline/diffusion.h"
#include "planner/pipeline/exact_partition.h"
#include "planner/pipeline/pipeline_time.h"

namespace tandem::planner {
namespace {

// Mixed precision with Adam: 2 of the weight, 4 of its original, 4 and 4 of the moments.
constexpr std::int64_t kMovedBytesPerParameter = 14;
// Extra time of a profiling step per timed pass, because it waits for the device.
constexpr std::int64_t kPicosecondsPerTiming = 10 * kPicosecondsPerUs;

[[noreturn]] void refuse_time() {
  throw Error("simulate-pipeline",
              "the training takes more than " +
                  std::to_string(kMostPicoseconds / kPicosecondsPerUs / 1'000'000) +
                  " s: give a smaller model, fewer micro-batches or a faster "
                  "device");
}

// Adds steps of one length.
void add_steps(std::int64_t& total_ps, std::int64_t step_ps, std::int64_t count) {
  const double sum =
      static_cast<double>(total_ps) + static_cast<double>(step_ps) * static_cast<double>(count);
  if (sum > static_cast<double>(kMostPicoseconds)) refuse_time();
  total_ps += step_ps * count;
}

class PhaseTimes {
 public:
  PhaseTimes(const WorkloadPhase& phase, const PipelineMachine& machine) : machine_(machine) {
    double ops = 0;
    for (const LayerWork& layer : phase.layers) ops += layer.forward_ops + layer.backward_ops;
    const double ps_per_op = machine.tokens_per_micro_batch *
                             static_cast<double>(kPicosecondsPerUs) / machine.ops_per_us;
    // No step takes longer than all passes one after the other.
    if (ops * ps_per_op * (machine.micro_batches + machine.num_stages) >
        static_cast<double>(kMostPicoseconds)) {
      refuse_time();
    }
    for (const LayerWork& layer : phase.layers) {
      passes_.push_back({std::llround(layer.forward_ops * ps_per_op),
                         std::llround(layer.backward_ops * ps_per_op)});
      costs_.push_back({passes_.back().forward_ps + passes_.back().backward_ps,
                        layer.num_parameters * kMovedBytesPerParameter});
    }
  }

  StageLoads loads() const { return StageLoads(costs_, {machine_.num_stages, kNoStageLimit}); }

  // Simulated once per distinct cuts, because phases often have the same cuts.
  std::int64_t step(const Cuts& cuts) {
    const auto [found, is_new] = steps_.try_emplace(cuts);
    if (is_new) found->second = simulated_step(cuts);
    return found->second;
  }

  double ideal_step_ps() const {
    double work = 0;
    for (const LayerCost& cost : costs_) work += static_cast<double>(cost.time_ps);
    return work / machine_.num_stages * (machine_.micro_batches + machine_.num_stages - 1);
  }

  // The timing overhead of the stage with the most layers.
  std::int64_t profile_ps(const Cuts& cuts) const {
    const StageLoads bounds = loads();
    int most = 0;
    for (int stage = 0; stage < machine_.num_stages; ++stage) {
      most = std::max(most, bounds.end_of(cuts, stage) - bounds.begin_of(cuts, stage));
    }
    return 2 * most * machine_.micro_batches * kPicosecondsPerTiming;
  }

 private:
  std::int64_t simulated_step(const Cuts& cuts) const {
    const StageLoads bounds = loads();
    std::vector<StagePasses> stages(static_cast<std::size_t>(machine_.num_stages));
    for (int stage = 0; stage < machine_.num_stages; ++stage) {
      StagePasses& sum = stages[static_cast<std::size_t>(stage)];
      for (int layer = bounds.begin_of(cuts, stage); layer < bounds.end_of(cuts, stage); ++layer) {
        sum.forward_ps += passes_[static_cast<std::size_t>(layer)].forward_ps;
        sum.backward_ps += passes_[static_cast<std::size_t>(layer)].backward_ps;
      }
    }
    return step_ps(stages, machine_.micro_batches);
  }

  const PipelineMachine& machine_;
  std::vector<StagePasses> passes_;
  std::vector<LayerCost> costs_;
  std::map<Cuts, std::int64_t> steps_;
};

struct Migration {
  std::int64_t time_ps = 0, bytes = 0;
};

Migration migration_of(const StageLoads& loads, const Cuts& before, const Cuts& after,
                       double bytes_per_us) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(loads.rules().num_stages)), in(out);
  Migration result;
  int from = 0, to = 0;
  for (int layer = 0; layer < loads.num_layers(); ++layer) {
    while (layer >= loads.end_of(before, from)) ++from;
    while (layer >= loads.end_of(after, to)) ++to;
    if (from == to) continue;
    const std::int64_t bytes = loads.bytes(layer, layer + 1);
    out[static_cast<std::size_t>(from)] += bytes;
    in[static_cast<std::size_t>(to)] += bytes;
    result.bytes += bytes;
  }
  const std::int64_t most = std::max(std::ranges::max(out), std::ranges::max(in));
  result.time_ps = std::llround(static_cast<double>(most) / bytes_per_us * kPicosecondsPerUs);
  return result;
}

Cuts cuts_by_parameters(const WorkloadPhase& phase, int num_stages) {
  std::vector<LayerCost> costs;
  for (const LayerWork& layer : phase.layers) costs.push_back({layer.num_parameters, 0});
  return exact_partition(StageLoads(costs, {num_stages, kNoStageLimit}));
}

// `phases`: times of each phase of the workload.
void run_dynamic(const DynamicWorkload& workload, std::vector<PhaseTimes>& phases,
                 const PipelineMachine& machine, BalanceMethod method, Cuts cuts,
                 PipelineStudy& study) {
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const WorkloadPhase& phase = workload.phases[i];
    PhaseTimes& times = phases[i];
    const StageLoads loads = times.loads();
    const Cuts fresh =
        method == BalanceMethod::kExact ? exact_partition(loads) : diffuse(loads, cuts).cuts;
    const std::int64_t old_step = times.step(cuts), new_step = times.step(fresh);
    const Migration migration = migration_of(loads, cuts, fresh, machine.bytes_per_us);
    add_steps(study.overhead_ps, times.profile_ps(cuts), 1);
    add_steps(study.dynamic_ps, old_step, 1);  // the one that is timed
    const std::int64_t left = phase.num_steps - 1;
    const double gain_ps = static_cast<double>(old_step - new_step) * static_cast<double>(left);
    if (gain_ps <= static_cast<double>(migration.time_ps)) {
      add_steps(study.dynamic_ps, old_step, left);
      continue;
    }
    add_steps(study.overhead_ps, migration.time_ps, 1);
    study.moved_bytes += migration.bytes;
    add_steps(study.dynamic_ps, new_step, left);
    ++study.num_migrations;
    cuts = fresh;
  }
  add_steps(study.dynamic_ps, study.overhead_ps, 1);
}

}  // namespace

std::int64_t PipelineStudy::static_ps() const {
  return std::min(equal_layers_ps, equal_parameters_ps);
}
double PipelineStudy::speedup() const {
  return static_cast<double>(static_ps()) / static_cast<double>(dynamic_ps);
}
double PipelineStudy::ideal_speedup() const { return static_cast<double>(static_ps()) / ideal_ps; }

PipelineStudy study_pipeline(const DynamicWorkload& workload, const PipelineMachine& machine,
                             BalanceMethod method) {
  const WorkloadPhase& first = workload.phases.front();
  const int num_decoder_layers = static_cast<int>(first.layers.size()) - 1;
  if (num_decoder_layers < machine.num_stages) {
    throw Error("simulate-pipeline", std::to_string(num_decoder_layers) + " layers cannot fill " +
                                         std::to_string(machine.num_stages) +
                                         " stages: give more --layers or fewer --stages");
  }
  const Cuts equal = equal_counts(num_decoder_layers, machine.num_stages);
  const Cuts by_parameters = cuts_by_parameters(first, machine.num_stages);
  PipelineStudy study;
  study.num_phases = static_cast<int>(workload.phases.size());
  std::vector<PhaseTimes> phases;
  for (const WorkloadPhase& phase : workload.phases) {
    PhaseTimes& times = phases.emplace_back(phase, machine);
    add_steps(study.equal_layers_ps, times.step(equal), phase.num_steps);
    add_steps(study.equal_parameters_ps, times.step(by_parameters), phase.num_steps);
    study.ideal_ps += times.ideal_step_ps() * static_cast<double>(phase.num_steps);
  }
  const bool has_equal = study.equal_layers_ps <= study.equal_parameters_ps;
  run_dynamic(workload, phases, machine, method, has_equal ? equal : by_parameters, study);
  return study;
}

}  // namespace tandem::planner
