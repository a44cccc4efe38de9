// SPDX-License-Identifier: Apache-2.0
//
// The number of sequences that should run, against every number.
#include "planner/mode/choose_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "host/planner/mode/machines.h"

namespace tandem::planner {
namespace {

TEST(ChooseBatch, IsNearTheBestOfAllNumbers) {
  std::mt19937 random(11);
  const auto upto = [&](double most) {
    return most * static_cast<double>(1 + random() % 1000) / 1000;
  };
  for (int i = 0; i < 100; ++i) {
    const MachineModel machine = machine_with({upto(1e-5), upto(1e-4)}, upto(1e-3));
    Outlook outlook{1 + upto(2000), 1 + upto(500), 1 + static_cast<double>(random() % 100), 512};
    outlook.prompts_elsewhere = random() % 2 == 0;
    outlook.room = {upto(40000), kPlenty, upto(100000)};
    double best = 0;
    for (double rows = 1; rows <= outlook.most_rows; ++rows) {
      const BatchChoice other = batch_of(machine, outlook, rows);
      if (other.mode.missing_tokens == 0) best = std::max(best, other.tokens_per_s);
    }
    EXPECT_GE(choose_batch(machine, outlook).tokens_per_s, 0.97 * best) << i;
  }
}

// Ten sequences fit the own memory; host memory that is a hundred times slower would hold all.
TEST(ChooseBatch, ASlowUnitHoldsUpNobody) {
  const MachineModel machine = machine_with({1e-4});
  Outlook outlook{1000, 10, 64, 512};
  outlook.room = {10 * 1005, kPlenty};
  outlook.prompts_elsewhere = true;
  const BatchChoice choice = choose_batch(machine, outlook);
  EXPECT_GE(choice.rows, 9);
  EXPECT_LE(choice.rows, 11);
  outlook.room[0] = kPlenty;
  EXPECT_EQ(choose_batch(machine, outlook).rows, 64) << "its own memory is as fast for all";
}

// Two sub-batches would give 0.8 % more tokens.
TEST(ChooseBatch, ASimplerModeThatIsHardlyWorseIsTaken) {
  Outlook outlook{250, 340, 64, 384};
  outlook.room = {kPlenty, kPlenty};
  const BatchChoice choice = batch_of(machine_with({2e-6}, 7.5e-4), outlook, 60);
  EXPECT_EQ(choice.mode.mode, StepMode::kShares);
}

// 47 sequences fit the own memory; the next number at a ratio of 1.2 would leave part of it empty.
TEST(ChooseBatch, TriesTheNumberThatTheOwnMemoryHolds) {
  const MachineModel machine = machine_with({1e-3});
  Outlook outlook{1000, 10, 64, 512};
  outlook.room = {47.5 * 1005, kPlenty};
  outlook.prompts_elsewhere = true;
  EXPECT_EQ(choose_batch(machine, outlook).rows, 47);
}

// Dense layers are bound by arithmetic from 8 rows on: chunks of prompts fill some steps, and more
// sequences gain hardly anything.
TEST(ChooseBatch, ACrowdThatGainsNothingWaits) {
  MachineModel machine = machine_with({1e-9}, 1e-9);
  machine.compute.dense_by_rows = Curve({{1, 1e-2}, {8, 1e-2}, {1e4, 12.5}});
  Outlook outlook{1000, 100, 4000, 512};
  outlook.room = {0, kPlenty};
  const double rows = choose_batch(machine, outlook).rows;
  EXPECT_GE(rows, 8);
  EXPECT_LE(rows, 1000);
  const BatchChoice all = batch_of(machine, outlook, 4000), few = batch_of(machine, outlook, rows);
  EXPECT_GE(few.tokens_per_s, 0.95 * all.tokens_per_s);
}

// The step has 0.1 ms of its own and 1.25 ms per row: twice of 6 rows gain 0.7 %.
TEST(ChooseBatch, TwiceAsManyMustGainSevenPerMille) {
  MachineModel machine = machine_with({});
  machine.units[0].attention.by_tokens = Curve::line(0, 0);
  machine.compute.dense_by_rows = Curve({{0, 1e-4}, {1e4, 1e-4 + 12.5}});
  Outlook outlook{1000, 100, 512, 512};
  outlook.prompts_elsewhere = true;
  outlook.room = {kPlenty};
  const double rows = choose_batch(machine, outlook).rows;
  EXPECT_GE(rows, 4);
  EXPECT_LE(rows, 12);
}

// A step of 512 rows with a chunk, then three with 8 decode rows alone.
TEST(ChooseBatch, StepsWithoutAChunkReadTheWeightsForDecodeRowsAlone) {
  MachineModel machine = machine_with({});
  machine.units[0].attention.by_tokens = Curve::line(0, 0);
  machine.compute.dense_by_rows = Curve({{1, 1}, {8, 1}, {512, 64}, {513, 128}});  // never reached
  Outlook outlook{504, 32, 8, 512};
  outlook.room = {kPlenty};
  const double chunks = 8.0 / 32;  // of a prompt in each step
  const double seconds = chunks * 64 + (1 - chunks) * 1;
  EXPECT_NEAR(batch_of(machine, outlook, 8).tokens_per_s, 8 / seconds, 0.01 * 8 / seconds);
}

// A step has rows for 3 % of a prompt: 1.5 sequences decode, the others have a part of their
// prompt.
TEST(ChooseBatch, WherePromptsFillTheStepsFewSequencesDecode) {
  const MachineModel machine = machine_with({});
  Outlook outlook{8192, 48, 16, 256};
  outlook.room = {kPlenty};
  const BatchChoice all = batch_of(machine, outlook, 16);
  EXPECT_GE(all.tokens_per_s, batch_of(machine, outlook, 1).tokens_per_s);
  EXPECT_NEAR(all.mode.shares[0], 16 * (8192 + 24), 1) << "the tokens of all";
  outlook.room = {10 * 8216.0};
  EXPECT_NEAR(batch_of(machine, outlook, 16).mode.missing_tokens, 6 * 8216, 1);
}

// A step has 256 rows, which take a second as fewer do: 1.5 of them decode.
TEST(ChooseBatch, AStepNeverHasMoreRowsThanItMay) {
  MachineModel machine = machine_with({});
  machine.units[0].attention.by_tokens = Curve::line(0, 0);
  machine.compute.dense_by_rows = Curve({{1, 1}, {256, 1}, {257, 100}});
  Outlook outlook{8192, 48, 16, 256};
  outlook.room = {kPlenty};
  EXPECT_NEAR(batch_of(machine, outlook, 16).tokens_per_s, 256.0 * 48 / 8240, 1e-3);
}

// Dense layers take 4 ms per layer for 256 rows, and the unit as long for their tokens. Half of the
// steps have 256 rows of prompts beside them, and take 8 + 4 ms in turn.
TEST(ChooseBatch, AStepWithPromptsMayBeInTwoSubBatches) {
  const MachineModel machine = machine_with({1e-6}, 1e-9);
  Outlook outlook{8, 16, 256, 512};
  outlook.room = {0, kPlenty};
  const double in_turn = 256 / (32 * (0.5 * 12e-3 + 0.5 * 8e-3));
  EXPECT_GT(batch_of(machine, outlook, 256).tokens_per_s, 1.3 * in_turn);
}

// Every step has 190 decode rows and 322 of short prompts. In even halves all of the 6.7 ms of
// attention is hidden by dense layers of 8 ms; were all decode rows in one half, it would not be.
TEST(ChooseBatch, ShortPromptsAreInBothSubBatches) {
  const MachineModel machine = machine_with({1e-6}, 1e-9);
  Outlook outlook{27, 16, 200, 512};
  outlook.room = {0, kPlenty};
  EXPECT_GT(batch_of(machine, outlook, 200).tokens_per_s, 190 / (32 * 9e-3));
}

TEST(ChooseBatch, WithoutRoomForOneNobodyRuns) {
  Outlook outlook{1000, 10, 64, 512};
  outlook.room = {500, 400};
  EXPECT_EQ(choose_batch(machine_with({1e-6}), outlook).rows, 0);
}

// 1000 tokens in chunks of 250: 375,000 pairs, two rows per read; 32 layers.
TEST(ChooseBatch, APromptPaysForItsWayAndForEarlierChunks) {
  MachineModel machine = machine_with({2e-6}, 1e-4);
  machine.bytes_to_unit = 2e6, machine.bytes_from_unit = 1e6;  // at 1e12 bytes/s
  machine.units[0].launch_s = 1e-5;
  machine.units[0].attention.rows_per_read = machine.units[1].attention.rows_per_read = 2;
  const Outlook outlook{1000, 100, 1, 500};
  const std::vector<double> seconds = prompt_seconds(machine, outlook);
  EXPECT_NEAR(seconds[0], 32 * (4e-5 + 0.1875), 1e-9);
  EXPECT_NEAR(seconds[1], 32 * (8e-4 + 1000 * 3e-6 + 0.375), 1e-9);
  EXPECT_NEAR(prompt_seconds(machine, {200, 100, 1, 500})[0], 32 * 1e-5, 1e-12) << "one chunk";
}

// The unit is faster for decode rows, but its link is slow for prompts.
TEST(ChooseBatch, PromptsKeepSequencesOffASlowLink) {
  MachineModel machine = machine_with({0.5e-6}, 1e-6);
  machine.bytes_to_unit = 1e6;
  machine.units[1].to_unit.bytes_per_s = 1e10;  // 0.1 ms per row
  Outlook outlook{200, 40, 32, 256};
  outlook.room = {kPlenty, kPlenty};
  const auto part_there = [&] {
    const ModeChoice mode = choose_batch(machine, outlook).mode;
    return mode.shares[1] / (mode.shares[0] + mode.shares[1]);
  };
  EXPECT_LT(part_there(), 0.3);
  machine.units[1].to_unit.bytes_per_s = 1e14;
  EXPECT_GT(part_there(), 0.5);
}

}  // namespace
}  // namespace tandem::planner
