// SPDX-License-Identifier: Apache-2.0
//
// 1F1B against schedules by hand and a naive one; workloads against their formulas; the study
// against sums by hand.
#include <gmock/gmock.h>

#include <random>

#include "host/planner/message_of.h"
#include "planner/pipeline/pipeline_study.h"
#include "planner/pipeline/pipeline_time.h"

namespace tandem::planner {
namespace {

using testing::HasSubstr;

// Every pass at its earliest time, found by going round until nothing changes.
std::int64_t naive_step_ps(const std::vector<StagePasses>& stages, int count) {
  const int last = static_cast<int>(stages.size()) - 1;
  const auto at = [](int id) { return static_cast<std::size_t>(id); };
  std::vector<std::vector<std::int64_t>> forward(stages.size(),
                                                 std::vector<std::int64_t>(at(count))),
      backward = forward;
  std::int64_t most = 0;
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (int stage = 0; stage <= last; ++stage) {
      std::int64_t now = 0;
      const auto run = [&](bool is_forward, int batch) {
        std::int64_t begin = now;
        if (is_forward && stage > 0) begin = std::max(begin, forward[at(stage - 1)][at(batch)]);
        if (!is_forward && stage < last)
          begin = std::max(begin, backward[at(stage + 1)][at(batch)]);
        now = begin + (is_forward ? stages[at(stage)].forward_ps : stages[at(stage)].backward_ps);
        std::int64_t& end = (is_forward ? forward : backward)[at(stage)][at(batch)];
        has_changed = has_changed || end != now;
        end = now;
      };
      const int warm = std::min(last - stage, count);
      for (int batch = 0; batch < warm; ++batch) run(true, batch);
      for (int batch = warm; batch < count; ++batch) {
        run(true, batch);
        run(false, batch - warm);
      }
      for (int batch = count - warm; batch < count; ++batch) run(false, batch);
      most = std::max(most, now);
    }
  }
  return most;
}

TEST(PipelineTime, StagesOfOneLengthTakeAllBatchesAndTheRamp) {
  const std::vector<StagePasses> stages(5, {2, 4});
  EXPECT_EQ(step_ps(stages, 12), (12 + 5 - 1) * 6);
  EXPECT_EQ(step_ps({stages.data(), 1}, 12), 12 * 6);
  EXPECT_EQ(step_ps(stages, 1), 5 * 6);
}

TEST(PipelineTime, TwoStagesRunAsDrawnByHand) {
  const std::vector<StagePasses> stages = {{1, 2}, {2, 3}};
  EXPECT_EQ(step_ps(stages, 2), 13);  // the second one runs from 1 to 11 without a gap
}

TEST(PipelineTime, RandomPipelinesEqualTheNaiveSchedule) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 300; ++i) {
    std::vector<StagePasses> stages(1 + random() % 7);
    for (StagePasses& stage : stages) {
      stage = {static_cast<std::int64_t>(random() % 10), static_cast<std::int64_t>(random() % 10)};
    }
    const int count = 1 + static_cast<int>(random() % 12);
    EXPECT_EQ(step_ps(stages, count), naive_step_ps(stages, count));
  }
}

TEST(DynamicWorkloads, EveryPhaseHasAllLayersAndTheHead) {
  const DecoderShape shape{12, 64, 128, 1000};
  for (const char* name :
       {"moe", "pruning", "freezing", "sparse-attention", "early-exit", "mixture-of-depths"}) {
    SCOPED_TRACE(name);
    const DynamicWorkload made = dynamic_workload(workload_of(name), shape, 3);
    std::int64_t steps = 0;
    for (const WorkloadPhase& phase : made.phases) {
      ASSERT_EQ(phase.layers.size(), 13U);
      EXPECT_EQ(phase.layers.back().forward_ops, 2.0 * 64 * 1000);
      EXPECT_EQ(phase.layers.back().num_parameters, 64 * 1000);
      EXPECT_GT(phase.num_steps, 0);
      steps += phase.num_steps;
    }
    EXPECT_EQ(steps, 10'000);
    EXPECT_GT(made.published_speedup, 1);
    EXPECT_FALSE(made.difference.empty());
    for (const StatedChoice& each : made.configuration) EXPECT_FALSE(each.source.empty());
  }
  EXPECT_THAT(message_of([] { workload_of("dense"); }), HasSubstr("'dense'"));
}

TEST(DynamicWorkloads, PruningFollowsItsSchedule) {
  EXPECT_DOUBLE_EQ(gradual_sparsity(0, 0.9), 0);
  EXPECT_DOUBLE_EQ(gradual_sparsity(0.5, 0.9), 0.9 * 0.875);
  EXPECT_DOUBLE_EQ(gradual_sparsity(1, 0.9), 0.9);
  const DecoderShape shape{2, 64, 128, 1000};
  const DynamicWorkload made = dynamic_workload(WorkloadKind::kPruning, shape, 1);
  ASSERT_EQ(made.phases.size(), 5U);
  const double matrices = 24.0 * 64 * 64, attention = 2.0 * 128 * 64;
  EXPECT_DOUBLE_EQ(made.phases[0].layers[0].forward_ops, matrices + attention);
  EXPECT_DOUBLE_EQ(made.phases[1].layers[0].forward_ops, matrices + attention);  // 0.07 %: dense
  const double density = 1 - gradual_sparsity(3001.0 / 4000, 0.9);
  EXPECT_DOUBLE_EQ(made.phases[4].layers[1].forward_ops,
                   matrices * density * 0.6 / 0.27 + attention);
}

TEST(DynamicWorkloads, ManyLayersFreezeInGroups) {
  const DynamicWorkload made = dynamic_workload(WorkloadKind::kFreezing, {200, 64, 128, 1000}, 1);
  ASSERT_EQ(made.phases.size(), 51U);  // four at once
  for (std::size_t phase = 0; phase < made.phases.size(); ++phase) {
    const auto& layers = made.phases[phase].layers;
    EXPECT_TRUE(phase == 0 || layers[4 * phase - 1].backward_ops == 0);
    EXPECT_GT(layers[4 * phase].backward_ops, 0);
  }
}

TEST(DynamicWorkloads, LayersFreezeFromTheFirstOn) {
  EXPECT_DOUBLE_EQ(freeze_time(0, 10, 0.8), 0.512);
  EXPECT_DOUBLE_EQ(freeze_time(5, 10, 0.8), 0.729);
  const DynamicWorkload made = dynamic_workload(WorkloadKind::kFreezing, {4, 64, 128, 1000}, 1);
  ASSERT_EQ(made.phases.size(), 5U);
  EXPECT_EQ(made.phases[0].num_steps, 5120);
  for (std::size_t frozen = 0; frozen < 5; ++frozen) {
    for (std::size_t layer = 0; layer < 4; ++layer) {
      EXPECT_EQ(made.phases[frozen].layers[layer].backward_ops == 0, layer < frozen);
    }
  }
}

TEST(DynamicWorkloads, TokensThatLeavePassAThirdOfTheLayers) {
  const DynamicWorkload made = dynamic_workload(WorkloadKind::kEarlyExit, {3000, 8, 8, 10}, 1);
  const std::vector<LayerWork>& layers = made.phases[0].layers;
  double sum = 0;
  for (std::size_t layer = 0; layer < 3000; ++layer) {
    sum += layers[layer].forward_ops / layers[0].forward_ops;
  }
  EXPECT_NEAR(sum / 3000, 1.0 / 3, 1e-3);
}

TEST(DynamicWorkloads, TheWorkThatIsLeftIsThatOfAllLayersButTheOutput) {
  DynamicWorkload made;
  const LayerWork full{1, 3, 0}, half{1, 1, 0}, none{0, 0, 0}, output{50, 50, 0};
  made.phases = {{10, {full, full, output}}, {30, {half, none, output}}};
  EXPECT_DOUBLE_EQ(work_left(made), (10 * 8 + 30 * 2) / (4.0 * 2 * 40));
  const DecoderShape shape{300, 64, 128, 1000};
  EXPECT_NEAR(work_left(dynamic_workload(WorkloadKind::kEarlyExit, shape, 1)), 1.0 / 3, 2e-3);
}

// Four layers of one operation and a head of none; in the second phase the last two are idle.
DynamicWorkload two_phases() {
  DynamicWorkload made;
  const LayerWork busy{1, 2, 1'000'000}, idle{0, 0, 1'000'000};
  made.phases = {{10, {busy, busy, busy, busy, {}}}, {100, {busy, busy, idle, idle, {}}}};
  return made;
}

TEST(PipelineStudies, StagesFollowTheWorkWhereThatGains) {
  PipelineMachine machine;
  machine.num_stages = 2;
  machine.micro_batches = 4;
  machine.tokens_per_micro_batch = 1;
  machine.ops_per_us = 1e-3;  // 3 ms per layer and micro-batch
  machine.bytes_per_us = 1e6;
  for (const BalanceMethod method : {BalanceMethod::kExact, BalanceMethod::kDiffusion}) {
    const PipelineStudy study = study_pipeline(two_phases(), machine, method);
    const std::int64_t ms = 1'000'000'000, full = 5 * 6 * ms, slow = 4 * 6 * ms, fast = 5 * 3 * ms;
    EXPECT_EQ(study.static_ps(), 10 * full + 100 * slow);
    EXPECT_EQ(study.num_migrations, 1);
    EXPECT_EQ(study.moved_bytes, 14'000'000);  // one layer
    const std::int64_t profile = 2 * (2 + 1) * 4 * 10'000'000LL, moving = 14'000'000;
    EXPECT_EQ(study.overhead_ps, 2 * profile + moving);
    EXPECT_EQ(study.dynamic_ps, 10 * full + slow + 99 * fast + study.overhead_ps);
    EXPECT_GT(study.speedup(), 1.3);
    EXPECT_GE(study.ideal_speedup(), study.speedup());
  }
  machine.bytes_per_us = 1e-3;  // longer than all that is gained
  const PipelineStudy stays = study_pipeline(two_phases(), machine, BalanceMethod::kExact);
  EXPECT_EQ(stays.num_migrations, 0);
  EXPECT_EQ(stays.dynamic_ps, stays.static_ps() + stays.overhead_ps);
}

TEST(PipelineStudies, NoWorkloadBeatsEqualShares) {
  for (const int stages : {8, 24}) {
    for (int kind = 0; kind < 6; ++kind) {
      DecoderShape shape;
      shape.num_layers = std::max(48, 3 * stages);
      PipelineMachine machine;
      machine.num_stages = stages;
      machine.micro_batches = 4 * stages;
      const DynamicWorkload made = dynamic_workload(static_cast<WorkloadKind>(kind), shape, 1);
      const PipelineStudy study = study_pipeline(made, machine, BalanceMethod::kExact);
      EXPECT_GT(study.speedup(), 0.97) << kind;
      EXPECT_LE(study.speedup(), study.ideal_speedup() * (1 + 1e-6)) << kind;
      EXPECT_LT(static_cast<double>(study.overhead_ps),
                0.03 * static_cast<double>(study.dynamic_ps));
    }
  }
}

TEST(PipelineStudies, WhatCannotBeIsNamed) {
  const DynamicWorkload made = dynamic_workload(WorkloadKind::kEarlyExit, {4, 64, 128, 1000}, 1);
  PipelineMachine machine;
  machine.num_stages = 5;
  const auto refused = [&] { study_pipeline(made, machine, BalanceMethod::kExact); };
  EXPECT_THAT(message_of(refused), HasSubstr("4 layers cannot fill 5 stages"));
  machine.num_stages = 4;
  EXPECT_EQ(message_of(refused), "");
  for (const double slow : {1e-9, 1e-3}) {  // one step, and all steps
    machine.ops_per_us = slow;
    EXPECT_THAT(message_of(refused), HasSubstr("give a smaller model"));
  }
}

}  // namespace
}  // namespace tandem::planner
