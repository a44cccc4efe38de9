// SPDX-License-Identifier: Apache-2.0
//
// Chunks of prompts against every number of rows.
#include "planner/mode/chunk_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "host/planner/mode/machines.h"

namespace tandem::planner {
namespace {

TEST(ChunkRows, AreTheMostThatEndInTime) {
  MachineModel machine = machine_with({});
  machine.causal_pair_s = 1e-8;
  const SubBatch decode{8, 8, 0, {{8, 4000, 4000}}};
  for (const double target : {0.2, 0.3, 0.5}) {
    int best = 16;
    for (int rows = 17; rows <= 2000; ++rows) {
      SubBatch step = decode;
      step.rows += rows, step.causal_pairs = rows * (rows + 1) / 2.0;
      if (step_time(machine, std::vector{step}).total <= target) best = rows;
    }
    EXPECT_EQ(chunk_rows(machine, decode, {16, 2000, target}), best) << target;
    EXPECT_GT(best, 16);
  }
}

TEST(ChunkRows, MayTakeExactlyTheTarget) {
  const MachineModel machine = machine_with({});
  const SubBatch decode{8, 8, 0, {{8, 4000, 4000}}};
  SubBatch step = decode;
  step.rows += 300, step.causal_pairs = 300 * 301 / 2.0;
  const double target = step_time(machine, std::vector{step}).total;
  EXPECT_EQ(chunk_rows(machine, decode, {16, 2000, target}), 300);
  EXPECT_EQ(chunk_rows(machine, decode, {16, 2000, std::nextafter(target, 0)}), 299);
}

TEST(ChunkRows, AreFewerBehindManyTokens) {
  MachineModel machine = machine_with({});
  machine.units[0].attention.per_pair_s = 1e-7;
  machine.units[0].attention.rows_per_read = 1 << 20;
  const SubBatch decode{8, 8, 0, {{8, 4000, 4000}}};
  const std::vector<double> past = {3000};
  int best = 16;
  for (int rows = 17; rows <= 2000; ++rows) {
    SubBatch step = decode;
    step.rows += rows;
    step.units[0] += machine.units[0].attention.work_of(rows, past[0]);
    if (step_time(machine, std::vector{step}).total <= 0.6) best = rows;
  }
  EXPECT_EQ(chunk_rows(machine, decode, {16, 2000, 0.6, past}), best);
  EXPECT_GT(best, 16);
  EXPECT_LT(best, chunk_rows(machine, decode, {16, 2000, 0.6}));
}

TEST(ChunkRows, KeepToTheirLimits) {
  const MachineModel machine = machine_with({});
  const SubBatch decode{8, 8, 0, {{8, 4000, 4000}}};
  EXPECT_EQ(chunk_rows(machine, decode, {16, 512, 1e-3}), 16) << "a target that cannot be met";
  EXPECT_EQ(chunk_rows(machine, decode, {16, 512, 1e3}), 512);
  EXPECT_EQ(chunk_rows(machine, decode, {16, 4, 1e3}), 4);
}

}  // namespace
}  // namespace tandem::planner
