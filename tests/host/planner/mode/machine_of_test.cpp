// SPDX-License-Identifier: Apache-2.0
//
// The machine that serves, from a table.
#include "planner/mode/machine_of.h"

#include <gtest/gtest.h>

#include "common/error.h"

namespace tandem::planner {
namespace {

constexpr AttentionKind kKind{4, DType::kI8};

CostTable table_of_two() {
  CostTable table;
  DeviceCost& gpu = table.devices.emplace_back();
  gpu.id = "gpu";
  gpu.dense_by_rows = Curve::line(1, 1);
  gpu.launch_s = 7, gpu.causal_pair_s = 8, gpu.merge_row_s = 9;
  gpu.attention = {{kKind, Curve::line(0, 2)}};
  DeviceCost& card = table.devices.emplace_back();
  card.id = "card";
  card.launch_s = 5, card.page_move_s = 6;
  card.to_device = {1, 10}, card.from_device = {2, 20};
  card.attention = {{{1, DType::kF16}, Curve::line(0, 99)}, {kKind, Curve::line(0, 3)}};
  return table;
}

TEST(MachineOf, TakesEachDeviceInItsPart) {
  const ServingUnit units[] = {{"gpu", true}, {"card", false}};
  const MachineModel machine =
      machine_of(table_of_two(), "gpu", units, {32, kKind, 100, 200, 0.25});
  EXPECT_EQ(machine.num_layers, 32);
  EXPECT_EQ(machine.bytes_to_unit, 100);
  EXPECT_EQ(machine.bytes_from_unit, 200);
  EXPECT_EQ(machine.causal_pair_s, 8);
  EXPECT_EQ(machine.compute.merge_row_s, 9);
  EXPECT_EQ(machine.compute.dense_s(2), 3);
  EXPECT_EQ(machine.compute.launch_s, 0) << "in the times of the dense layers";
  ASSERT_EQ(machine.units.size(), 2u);
  EXPECT_TRUE(machine.units[0].is_own);
  EXPECT_EQ(machine.units[0].launch_s, 7);
  EXPECT_EQ(machine.units[1].attention.by_tokens(10), 30) << "of the kind";
  EXPECT_EQ(machine.units[1].to_unit, (LinkCost{1, 10}));
  EXPECT_EQ(machine.units[1].from_unit, (LinkCost{2, 20}));
  EXPECT_EQ(machine.units[1].launch_s, 5);
  EXPECT_EQ(machine.units[1].page_move_s, 6);
  EXPECT_EQ(machine.units[1].early_submit_s, 5 + 1) << "its launch, and the way there";
  EXPECT_EQ(machine.units[1].append_s, 5 + 1 + 2) << "and back";
  EXPECT_EQ(machine.units[0].early_submit_s, 0);
  EXPECT_EQ(machine.units[0].append_s, 0);
  EXPECT_EQ(machine.early_share, 0.25);
}

TEST(MachineOf, NamesWhatTheTableLacks) {
  const ServingUnit unknown[] = {{"other", false}};
  EXPECT_THROW(machine_of(table_of_two(), "gpu", unknown, {1, kKind}), Error);
  EXPECT_THROW(machine_of(table_of_two(), "other", {}, {1, kKind}), Error);
  const ServingUnit known[] = {{"card", false}};
  EXPECT_THROW(machine_of(table_of_two(), "gpu", known, {1, {8, DType::kI8}}), Error);
}

}  // namespace
}  // namespace tandem::planner
