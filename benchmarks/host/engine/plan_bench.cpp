// SPDX-License-Identifier: Apache-2.0
//
// What planning a step costs: 64 decode rows with pages on three units.
//
//   step           rows listed, one or two sub-batches and one of four ways chosen, times learned
//   deal           how many sequences run and where new pages go; only where load or costs change
// Beside each figure: the time that the planned step is predicted to take on a GPU with two cards.
#include <chrono>
#include <cstdlib>
#include <vector>

#include "drivers/cpu/samples.h"
#include "engine/planning/step_planner.h"

namespace tandem::bench {
namespace {

using BenchClock = std::chrono::steady_clock;

constexpr int kBatch = 64, kContext = 2048, kPageTokens = 16, kUnits = 3, kCallsOfSample = 50;

// Llama-3-8B in 16 bits on a GPU of 1.6 TB/s, and two cards behind links of 25 GB/s.
planner::MachineModel machine() {
  planner::MachineModel machine;
  machine.num_layers = 32;
  machine.compute.dense_by_rows = planner::Curve({{1, 10e-3}, {128, 11e-3}, {256, 20e-3}});
  machine.compute.merge_row_s = 1e-8;
  machine.compute.sampling_row_s = 1e-6;
  machine.bytes_to_unit = 24e3, machine.bytes_from_unit = 16e3;
  for (int u = 0; u < kUnits; ++u) {
    planner::UnitModel& unit = machine.units.emplace_back();
    unit.attention.by_tokens = planner::Curve::line(0, u == 0 ? 2.5e-9 : 1e-8);
    unit.is_own = u == 0;
    unit.launch_s = 5e-6;
    if (u > 0) unit.to_unit = unit.from_unit = {5e-6, 25e9};
  }
  return machine;
}

std::vector<engine::PageTable> tables() {
  std::vector<engine::PageTable> tables;
  for (int i = 0; i < kBatch; ++i) {
    engine::PageTable& table = tables.emplace_back();
    table.held.resize(kUnits);
    const int unit = i % 4 < 2 ? 0 : i % 4 - 1;
    for (int block = 0; block < kContext / kPageTokens; ++block) {
      table.blocks.push_back({unit, static_cast<device::PageId>(block)});
      ++table.held[static_cast<std::size_t>(unit)];
    }
  }
  return tables;
}

engine::PlanOptions options() {
  engine::PlanOptions options;
  options.deals_shares = true;
  options.compute_id = "gpu";
  options.unit_ids = {"gpu", "card 0", "card 1"};
  return options;
}

template <typename Call>
std::vector<double> us_of(const Call& call) {
  std::vector<double> samples;
  for (int run = -3; run < kSamples; ++run) {
    const auto begin = BenchClock::now();
    for (int i = 0; i < kCallsOfSample; ++i) call(i);
    const std::chrono::duration<double, std::micro> spent = BenchClock::now() - begin;
    if (run >= 0) samples.push_back(spent.count() / kCallsOfSample);
  }
  return samples;
}

void plan_step(engine::StepPlanner& planner, const std::vector<engine::PageTable>& tables) {
  planner.begin();
  for (int i = 0; i < kBatch; ++i) {
    planner.add({static_cast<engine::SequenceId>(i), kContext - 1, 1, true, i < kBatch / 2 ? 0 : 1},
                tables[static_cast<std::size_t>(i)]);
  }
  planner.choose(2);
  const planner::StepTime& time = planner.predicted();
  engine::StepMeasure measured;
  measured.run_s = time.total;
  measured.parts = {time.dense, 0, time.merge, time.sampling};
  measured.unit_busy_s = {time.own_attention, time.units[1], time.units[2]};
  planner.learn(measured, BenchClock::now());
}

}  // namespace

int measure_planning() {
  const std::vector<engine::PageTable> held = tables();
  engine::StepPlanner planner(machine(), options());
  planner.set_ways({{{false, true}, {true, true}, {false, false}, {true, false}}, 0.05});
  plan_step(planner, held);
  const double step_us = planner.predicted().total * 1e6;
  print_figure("engine_plan/step", us_of([&](int) { plan_step(planner, held); }), "us",
               {{"step_us", step_us}});
  planner::Outlook outlook;
  outlook.prompt = kContext - 128, outlook.output = 256, outlook.step_rows = 256;
  outlook.room = {1e6, 1e6, 1e6};
  const auto deal = [&](int i) {
    outlook.most_rows = i % 2 == 0 ? kBatch : kBatch / 2;
    if (!planner.deal(outlook, BenchClock::now())) std::exit(1);
  };
  print_figure("engine_plan/deal", us_of(deal), "us", {{"step_us", step_us}});
  return 0;
}

}  // namespace tandem::bench

int main() { return tandem::bench::measure_planning(); }
