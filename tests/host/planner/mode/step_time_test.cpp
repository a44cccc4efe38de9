// SPDX-License-Identifier: Apache-2.0
//
// The time of a step: closed forms, and a naive walk through every layer as the oracle.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "host/planner/mode/machines.h"

namespace tandem::planner {
namespace {

SubBatch decode_rows(double rows, std::vector<AttentionWork> units) {
  return {rows, rows, 0, std::move(units)};
}

TEST(StepTime, WithoutOtherUnitsIsTheSumOfItsParts) {
  MachineModel machine = machine_with({});
  machine.compute.launch_s = 1e-5, machine.compute.sampling_row_s = 1e-4, machine.host_s = 2e-3;
  machine.compute.sampling_s = 5e-4;
  machine.causal_pair_s = 1e-6, machine.units[0].launch_s = 2e-5;
  SubBatch batch = decode_rows(8, {{8, 1000, 1000}});
  batch.causal_pairs = 50;
  const StepTime time = step_time(machine, std::vector{batch});
  EXPECT_NEAR(time.dense, 32 * (1e-3 + 1e-5), 1e-12);
  EXPECT_NEAR(time.own_attention, 32 * (1e-3 + 5e-5 + 2e-5), 1e-12);
  EXPECT_NEAR(time.sampling, 5e-4 + 8e-4, 1e-12);
  EXPECT_NEAR(time.total, time.compute_busy() + 2e-3, 1e-12);
  EXPECT_NEAR(time.waiting, 0, 1e-12);
  batch.sampled = 0;
  EXPECT_EQ(step_time(machine, std::vector{batch}).sampling, 0) << "a chunk in mid-prompt";
}

TEST(StepTime, AUnitElsewhereWorksBesideTheOwnOne) {
  MachineModel machine = machine_with({1e-6}, 1e-4);
  machine.compute.merge_row_s = 1e-5;
  const auto total = [&](double own_tokens, double tokens) {
    const SubBatch batch = decode_rows(8, {{8, own_tokens, 0}, {8, tokens, 0}});
    return step_time(machine, std::vector{batch}).total;
  };
  const double dense_and_merge = 1e-3 + 8e-5, way = 2e-4 + 16e-12;
  EXPECT_NEAR(total(0, 1000), 32 * (dense_and_merge + way + 1e-3), 1e-9);
  EXPECT_NEAR(total(500, 1000), 32 * (dense_and_merge + way + 1e-3), 1e-9);
  EXPECT_NEAR(total(3000, 1000), 32 * (dense_and_merge + 3e-3), 1e-9);
  machine.early_share = 0.1;
  EXPECT_NEAR(total(0, 1000), 32 * (dense_and_merge + way + 0.9e-3), 1e-9);
}

TEST(StepTime, TwoSubBatchesHideAttentionAndReadTheWeightsTwice) {
  const MachineModel machine = machine_with({1e-6});
  const SubBatch whole = decode_rows(16, {{}, {16, 2000, 0}});
  const SubBatch half = decode_rows(8, {{}, {8, 1000, 0}});
  const StepTime one = step_time(machine, std::vector{whole});
  const StepTime two = step_time(machine, std::vector{half, half});
  EXPECT_NEAR(one.total, 32 * 3e-3, 1e-8);
  EXPECT_NEAR(two.total, 32 * 2e-3 + 1e-3, 1e-8) << "the second half begins a dense layer later";
  EXPECT_NEAR(two.dense, 2 * one.dense, 1e-12);
  EXPECT_NEAR(two.units[1], one.units[1], 1e-12);
}

// Every layer, on lists of who is free when.
double naive_total(const MachineModel& machine, const std::vector<SubBatch>& batches, bool early) {
  const double early_share = early ? machine.early_share : 0;
  std::vector<double> ready(batches.size()), unit_free(machine.units.size());
  double compute = 0;
  for (int layer = 0; layer < machine.num_layers; ++layer) {
    for (std::size_t b = 0; b < batches.size(); ++b) {
      double rows_elsewhere = 0, own = batches[b].causal_pairs * machine.causal_pair_s;
      double submits = 0;
      for (std::size_t u = 0; u < machine.units.size(); ++u) {
        const AttentionWork& work = batches[b].units[u];
        if (machine.units[u].is_own) {
          own += work.rows > 0 ? machine.units[u].attention.seconds(work) : 0;
        } else {
          rows_elsewhere += work.rows;
          if (work.rows <= 0 || early_share <= 0 || machine.units[u].append_s <= 0) continue;
          rows_elsewhere += work.rows;
          own += work.rows * machine.causal_pair_s;
          submits += machine.units[u].early_submit_s;
        }
      }
      const double dense = machine.compute.dense_by_rows(batches[b].rows) / machine.num_layers;
      compute = std::max(compute, ready[b]) + rows_elsewhere * machine.compute.merge_row_s + dense +
                submits;
      const double asked = compute - early_share * dense, projected = compute;
      compute += own;
      ready[b] = compute;
      for (std::size_t u = 0; u < machine.units.size(); ++u) {
        const UnitModel& unit = machine.units[u];
        const AttentionWork& work = batches[b].units[u];
        if (unit.is_own || work.rows == 0) continue;
        const double to = unit.to_unit.seconds(work.rows * machine.bytes_to_unit);
        unit_free[u] = std::max(unit_free[u], asked + to) + unit.attention.seconds(work);
        ready[b] = std::max(
            ready[b], unit_free[u] + unit.from_unit.seconds(work.rows * machine.bytes_from_unit));
        if (early_share > 0) ready[b] = std::max(ready[b], projected + unit.append_s);
      }
    }
  }
  return *std::ranges::max_element(ready);
}

TEST(StepTime, IsThatOfAWalkThroughEveryLayer) {
  std::mt19937 random(7);
  int num_early = 0, num_whole = 0;
  const auto upto = [&](double most) { return most * static_cast<double>(random() % 1000) / 1000; };
  for (int i = 0; i < 2000; ++i) {
    MachineModel machine = machine_with({upto(1e-5), upto(1e-5), upto(1e-6)}, upto(1e-3));
    machine.num_layers = 1 + static_cast<int>(random() % 100);
    machine.early_share = upto(0.3), machine.compute.merge_row_s = upto(1e-5);
    machine.causal_pair_s = upto(1e-6);
    for (std::size_t u = 1; u < 4; ++u) {
      if (i % 2 == 0) continue;
      machine.units[u].early_submit_s = 1e-9 + upto(3e-4);
      machine.units[u].append_s = machine.units[u].early_submit_s + upto(3e-4);
    }
    std::vector<SubBatch> batches(1 + random() % 2);
    for (SubBatch& batch : batches) {
      batch.rows = 1 + upto(64), batch.causal_pairs = upto(100);
      for (int u = 0; u < 4; ++u) {
        const double rows = random() % 3 == 0 ? 0 : 1 + upto(8);
        batch.units.push_back({rows, rows * upto(100), 0});
      }
    }
    const double whole = naive_total(machine, batches, false);
    const double early = naive_total(machine, batches, true);
    StepTime time;
    step_time(machine, batches, false, time);
    EXPECT_NEAR(time.total / whole, 1, 0.01) << i;
    EXPECT_FALSE(time.early_queries);
    step_time(machine, batches, true, time);
    EXPECT_NEAR(time.total / early, 1, 0.01) << i;
    EXPECT_EQ(time.early_queries, machine.early_share > 0);
    const StepTime least = step_time(machine, batches);
    const bool has_price = i % 2 == 1;
    EXPECT_NEAR(least.total / (has_price ? std::min(whole, early) : early), 1, 0.01) << i;
    num_early += has_price && least.early_queries, num_whole += has_price && !least.early_queries;
  }
  EXPECT_GT(num_early, 50);
  EXPECT_GT(num_whole, 50);
}

TEST(StepTime, EarlyQueriesThatGainNothingAreNotSent) {
  MachineModel machine = machine_with({1e-6});
  machine.early_share = 0.5, machine.units[1].early_submit_s = 1e-6;
  const SubBatch own = decode_rows(8, {{8, 1000, 0}, {}});
  EXPECT_FALSE(step_time(machine, std::vector{own}).early_queries) << "nothing is elsewhere";
  const SubBatch card = decode_rows(8, {{}, {8, 1000, 0}});
  EXPECT_TRUE(step_time(machine, std::vector{card}).early_queries);
}

}  // namespace
}  // namespace tandem::planner
