// SPDX-License-Identifier: Apache-2.0
//
// The loop that follows its costs, in virtual time: against every mode that an operator might fix,
// on devices that are slowed on purpose, and against a target for the time between tokens.
#include <gmock/gmock.h>

#include <numeric>
#include <utility>

#include "host/engine/loop/virtual_cost_rig.h"
#include "host/planner/mode/machines.h"

namespace tandem::engine {
namespace {

using ::testing::Each;
using ::testing::Le;

// Own attention 1 us per token and layer, dense layers 1 ms per layer up to 64 rows.
planner::MachineModel machine_of_16(std::vector<double> remote_s_per_token, double latency_s) {
  planner::MachineModel machine = planner::machine_with(std::move(remote_s_per_token), latency_s);
  machine.compute.dense_by_rows = planner::Curve({{64, 16e-3}, {128, 32e-3}});
  for (planner::UnitModel& unit : machine.units) {
    unit.page_move_s = 10e-6;
    // Rows of a chunk share the read of their tokens.
    unit.attention.rows_per_read = 1 << 20;
    unit.attention.per_pair_s = unit.attention.by_tokens(1) / 16;
  }
  machine.causal_pair_s = machine.units[0].attention.per_pair_s;
  return machine;
}

double seconds_of(const planner::MachineModel& machine, const FixedMode& mode,
                  const std::vector<CostRequest>& load) {
  CostRig rig(machine);
  rig.start(mode);
  const double seconds = rig.serve(load);
  rig.expect_tokens();
  return seconds;
}

std::vector<CostRequest> load_of(int batch, int context, int output) {
  return std::vector<CostRequest>(static_cast<std::size_t>(batch), {context, output});
}

std::vector<CostRequest> mixed_load() {
  std::vector<CostRequest> load;
  for (int i = 0; i < 24; ++i) load.push_back({32 << (i % 6), 16 + 4 * (i % 5)});
  return load;
}

TEST(CostsInTheLoop, NoFixedModeIsMuchFasterAndTheWorstIsMuchSlower) {
  const std::vector<FixedMode> fixed = {{{1, 0}, 1},     {{1, 0}, 2},     {{0.5, 0.5}, 1},
                                        {{0.5, 0.5}, 2}, {{0, 1}, 1},     {{0, 1}, 2},
                                        {{0.9, 0.1}, 1}, {{0.1, 0.9}, 1}, {{0.1, 0.9}, 2}};
  std::vector<std::vector<CostRequest>> loads = {mixed_load()};
  for (const int batch : {1, 4, 16, 64}) {
    for (const int context : {32, 512, 8192}) {
      if (batch * context <= 1 << 17) loads.push_back(load_of(batch, context, 48));
    }
  }
  for (const double speed : {0.125, 1.0, 8.0}) {
    const planner::MachineModel machine = machine_of_16({1e-6 / speed}, 2e-5);
    for (const auto& load : loads) {
      SCOPED_TRACE(testing::Message()
                   << "speed " << speed << ", " << load.size() << " of " << load.back().prompt);
      double best = 1e9, worst = 0;
      for (const FixedMode& mode : fixed) {
        const double seconds = seconds_of(machine, mode, load);
        best = std::min(best, seconds), worst = std::max(worst, seconds);
      }
      const double chosen = seconds_of(machine, {}, load);
      EXPECT_LE(chosen, 1.03 * best);
      if (load.size() > 1) {
        EXPECT_GE(worst, 1.2 * chosen);
      }
    }
  }
}

// Sixteen requests at once. Returns by how much the prediction of a step was wrong at most.
double keep_busy(CostRig& rig, double until_s) {
  double most = 0;
  std::uint64_t seen = rig.loop().status().steps;
  while (rig.now_s() < until_s) {
    const EngineStatus before = rig.loop().status();
    if (before.running + before.waiting < 16) rig.submit({512, 64});
    rig.step();
    const EngineStatus status = rig.loop().status();
    if (std::exchange(seen, status.steps) == status.steps) continue;
    const PlanStatus& plan = status.plan;
    most = std::max(most, std::abs(plan.predicted_s / plan.measured_s - 1));
  }
  return most;
}

TEST(CostsInTheLoop, AUnitThatBecomesTenTimesSlowerIsLeftWithinASecond) {
  CostRig rig(machine_of_16({0.5e-6}, 1e-5));
  rig.start();
  const auto pages_there = [&] { return rig.loop().status().units[1].pages_used; };
  keep_busy(rig, 8);
  ASSERT_GT(rig.loop().status().plan.shares.at(1), 0.5);
  const std::uint32_t before = pages_there();
  ASSERT_GT(before, 16 * 16u);
  rig.machine().slow_down(1, 10);
  keep_busy(rig, 9);
  EXPECT_LT(rig.loop().status().plan.shares.at(1), 0.3);
  keep_busy(rig, 30);
  EXPECT_LT(pages_there(), before / 2) << "pages have moved";
  EXPECT_GT(rig.loop().status().moved_pages, 0u);
  rig.machine().slow_down(1, 0.1);
  keep_busy(rig, 60);
  EXPECT_GT(rig.loop().status().plan.shares.at(1), 0.5) << "it is tried again";
  rig.expect_tokens();
}

TEST(CostsInTheLoop, TheModeFollowsCardsThatSlowDownSpeedUpDieAndComeBack) {
  CostRig rig(machine_of_16({0.5e-6, 0.5e-6}, 1e-5));
  rig.start();
  const auto shares = [&] { return rig.loop().status().plan.shares; };
  keep_busy(rig, 5);
  EXPECT_NEAR(shares().at(1), shares().at(2), 0.05);
  rig.machine().slow_down(2, 10);
  keep_busy(rig, 6);
  EXPECT_LT(shares().at(2), 0.3 * shares().at(1));
  rig.machine().slow_down(2, 0.1);
  keep_busy(rig, 60);
  EXPECT_NEAR(shares().at(1), shares().at(2), 0.05);
  rig.kill(1);
  EXPECT_LT(keep_busy(rig, 62), 0.01) << "steps behind a loss take what is predicted";
  EXPECT_LT(shares().at(1), 1e-6);
  EXPECT_GT(shares().at(2), 0.6);
  EXPECT_GT(rig.loop().status().rebuilt_sequences, 0u);
  rig.bring_back(1);
  EXPECT_LT(keep_busy(rig, 63), 0.01) << "it costs what was measured, not what it states";
  EXPECT_NEAR(shares().at(1), shares().at(2), 0.05);
  rig.kill(1), rig.kill(2);
  const double killed_s = rig.now_s();
  while (rig.loop().status().lost_units().size() < 2) rig.step();
  EXPECT_LT(rig.now_s(), killed_s + 1) << "no move waits for the device timeout";
  keep_busy(rig, rig.now_s() + 1);
  EXPECT_EQ(rig.loop().status().plan.mode, "own attention");
  EXPECT_GT(rig.ended.size(), 100u);
  rig.expect_tokens();
}

TEST(CostsInTheLoop, UnitsCostTheSameBehindALossOfWhatComputes) {
  CostRig rig(machine_of_16({0.5e-6}, 1e-5));
  rig.compute_dies_at = Clock::TimePoint(std::chrono::seconds(2));
  rig.start();
  keep_busy(rig, 1.9);
  while (rig.loop().status().compute_id == "compute") rig.step();
  keep_busy(rig, rig.now_s() + 0.2);
  for (const PlanPart& part : rig.loop().status().plan.parts) {
    if (!part.name.ends_with("attention") || part.device == "fallback") continue;
    EXPECT_NEAR(part.predicted_s, *part.measured_s, 0.2 * *part.measured_s)
        << part.name << " of " << part.device;
  }
  rig.expect_tokens();
}

// A long request comes first and holds hardly anything yet.
TEST(CostsInTheLoop, NewcomersGetAHomeByWhatAllWillHoldInTheEnd) {
  CostRig rig(machine_of_16({1e-6}, 1e-5));
  rig.options().max_running = 8;
  rig.start({{0.5, 0.5}, 1});
  rig.submit({16, 3000});
  rig.step();
  rig.submit({64, 16}), rig.submit({64, 16});
  rig.step();
  const EngineStatus status = rig.loop().status();
  ASSERT_EQ(status.running, 3);
  EXPECT_EQ(std::min(status.units[0].pages_used, status.units[1].pages_used), 2u)
      << "the long one has its unit for itself";
  while (!rig.loop().idle()) rig.step();
  rig.expect_tokens();
}

TEST(CostsInTheLoop, AUnitSlowerThanTheOwnMemoryIsNotUsed) {
  CostRig rig(machine_of_16({8e-6}, 1e-3));
  rig.start();
  rig.serve(load_of(16, 256, 32));
  EXPECT_EQ(rig.loop().status().plan.mode, "own attention");
  for (int i = 0; i < 16; ++i) rig.submit({256, 32});
  for (int i = 0; i < 20; ++i) {
    rig.step();
    EXPECT_EQ(rig.loop().status().units[1].pages_used, 0u);
  }
}

TEST(CostsInTheLoop, ALongPromptDoesNotStallStreamsBeyondTheTarget) {
  planner::MachineModel machine = machine_of_16({}, 0);
  machine.units[0].attention.by_tokens = planner::Curve::line(0, 1e-7);
  machine.units[0].attention.per_pair_s = machine.causal_pair_s = 2e-8;
  const auto longest_gap = [&](double target_s) {
    CostRig rig(machine);
    rig.options().target_itl_s = target_s;
    rig.start();
    for (int i = 0; i < 4; ++i) rig.submit({16, 60});
    for (int i = 0; i < 6; ++i) rig.step();
    rig.submit({2048, 4});
    while (!rig.loop().idle()) rig.step();
    EXPECT_EQ(rig.ended.size(), 5u);
    rig.expect_tokens();
    EXPECT_EQ(rig.loop().status().target_missed_steps, 0u);
    return *std::ranges::max_element(rig.gaps);
  };
  EXPECT_GT(longest_gap(0), 0.05);
  EXPECT_LE(longest_gap(0.03), 0.0301);
}

// Knows the model.
class Knowing final : public Drafter {
 public:
  std::string_view name() const override { return "knowing"; }
  void draft(std::span<DraftWish> wishes) override {
    for (DraftWish& wish : wishes) {
      std::vector<TokenId> known(wish.tokens.begin(), wish.tokens.end());
      for (int i = 0; i < wish.most; ++i) known.push_back(next_token(known, kCostVocab));
      wish.drafts.assign(known.begin() + static_cast<std::ptrdiff_t>(wish.tokens.size()),
                         known.end());
    }
  }
  void forget(std::uint64_t) override {}
};

// Up to 64 rows a step takes 16 ms, and a ms more for every four rows.
TEST(CostsInTheLoop, GuessesKeepToTheTarget) {
  for (const double target_s : {0.0, 0.0175}) {
    CostRig rig(machine_of_16({}, 0));
    rig.options().target_itl_s = target_s;
    rig.options().speculation.make_drafter = [] { return std::make_unique<Knowing>(); };
    rig.start();
    for (int i = 0; i < 16; ++i) rig.submit({2, 100});
    int most_rows = 0;
    while (!rig.loop().idle()) {
      rig.step();
      most_rows = std::max(most_rows, rig.loop().status().plan.rows);
    }
    rig.expect_tokens();
    EXPECT_GT(rig.loop().status().speculation.accepted, 200u);
    if (target_s == 0) {
      EXPECT_GT(most_rows, 72);
    } else {
      EXPECT_LE(most_rows, 70);
    }
  }
}

TEST(CostsInTheLoop, ATargetThatCannotBeMetIsToldAndPromptsGoOn) {
  CostRig rig(machine_of_16({}, 0));
  rig.options().target_itl_s = 0.001;
  rig.start();
  rig.submit({16, 200});
  rig.step();
  rig.submit({64, 4});
  while (rig.ended.empty()) rig.step();
  EXPECT_EQ(rig.ended, std::vector<RequestId>{2});
  EXPECT_TRUE(rig.loop().status().plan.target_missed);
  EXPECT_GT(rig.loop().status().target_missed_steps, 10u);
}

TEST(CostsInTheLoop, TheStatusSaysWhatWasPredictedAndMeasured) {
  planner::MachineModel machine = machine_of_16({1e-6}, 1e-5);
  machine.compute.sampling_row_s = 1e-4, machine.compute.merge_row_s = 1e-6;
  CostRig rig(machine);
  rig.start({{0.5, 0.5}, 1});
  EXPECT_TRUE(rig.loop().status().plan.mode.empty());
  for (int i = 0; i < 8; ++i) rig.submit({100, 20});
  for (int i = 0; i < 12; ++i) rig.step();
  const PlanStatus plan = rig.loop().status().plan;
  EXPECT_EQ(plan.mode, "shares");
  EXPECT_EQ(plan.num_sub_batches, 1);
  EXPECT_EQ(plan.rows, 8);
  EXPECT_NEAR(plan.predicted_s, plan.measured_s, 1e-6);
  std::map<std::string, double> measured;
  for (const PlanPart& part : plan.parts) {
    ASSERT_TRUE(part.measured_s) << part.name;
    EXPECT_NEAR(part.predicted_s, *part.measured_s, 1e-7) << part.name;
    measured[part.name + ' ' + part.device] += *part.measured_s;
  }
  EXPECT_GT(measured["dense compute"], 0.01);
  EXPECT_GT(measured["own attention unit 0"], 0.001);
  EXPECT_GT(measured["attention unit 1"], 0.001);
  EXPECT_GT(measured["sampling compute"], 1e-4);
  const auto modes = rig.loop().status().steps_by_mode;
  EXPECT_EQ(std::accumulate(modes.begin(), modes.end(), std::uint64_t{0},
                            [](std::uint64_t sum, const auto& mode) { return sum + mode.second; }),
            rig.loop().status().steps);
}

TEST(CostsInTheLoop, AWrongTableIsCorrected) {
  const planner::MachineModel machine = machine_of_16({1e-6}, 1e-5);
  CostRig rig(machine);
  rig.start({{0.5, 0.5}, 1});
  rig.machine().slow_down(0, 1.7);
  rig.machine().slow_down(1, 0.5);
  rig.serve(load_of(8, 100, 120));
  const PlanStatus plan = rig.loop().status().plan;
  EXPECT_NEAR(plan.predicted_s, plan.measured_s, 0.01 * plan.measured_s);
}

}  // namespace
}  // namespace tandem::engine
