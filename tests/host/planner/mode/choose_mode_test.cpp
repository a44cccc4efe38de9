// SPDX-License-Identifier: Apache-2.0
//
// Water-filling and the choice of a mode, against brute force over shares in steps of a twentieth.
#include "planner/mode/choose_mode.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "host/planner/mode/machines.h"

namespace tandem::planner {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

constexpr int kParts = 20;

// All ways to deal `parts` to `num` units.
void for_each_deal(int num, int parts, std::vector<int>& dealt,
                   const std::function<void(const std::vector<int>&)>& use) {
  if (static_cast<int>(dealt.size()) + 1 == num) {
    dealt.push_back(parts);
    use(dealt);
    dealt.pop_back();
    return;
  }
  for (int part = 0; part <= parts; ++part) {
    dealt.push_back(part);
    for_each_deal(num, parts - part, dealt, use);
    dealt.pop_back();
  }
}

double last_end(const std::vector<FillUnit>& units, std::span<const double> shares) {
  double end = 0;
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (shares[u] > 0) end = std::max(end, units[u].fixed_s + shares[u] * units[u].per_token_s);
  }
  return end;
}

TEST(WaterFill, UnitsThatTakePartEndAtTheSameTime) {
  const std::vector<FillUnit> units = {{0, 1, 100}, {2, 0.5, 100}, {50, 0.1, 100}};
  EXPECT_THAT(water_fill(units, 20), ElementsAre(DoubleNear(8, 1e-6), DoubleNear(12, 1e-6), 0));
}

TEST(WaterFill, AFullUnitLeavesTheRestToOthers) {
  const std::vector<FillUnit> units = {{0, 1, 5}, {0, 1, 100}};
  EXPECT_THAT(water_fill(units, 30), ElementsAre(DoubleNear(5, 1e-6), DoubleNear(25, 1e-6)));
  EXPECT_THAT(water_fill(units, 300), ElementsAre(DoubleNear(5, 1e-6), DoubleNear(100, 1e-6)));
}

TEST(WaterFill, IsNeverSlowerThanAnyOtherDeal) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<FillUnit> units;
    for (int u = 0; u < 3; ++u) {
      units.push_back({static_cast<double>(random() % 50),
                       0.125 * static_cast<double>(random() % 9),
                       static_cast<double>(20 + random() % 100)});
    }
    const double tokens = static_cast<double>(1 + random() % 60);
    const std::vector<double> shares = water_fill(units, tokens);
    ASSERT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), tokens, 1e-6);
    std::vector<int> dealt;
    for_each_deal(3, kParts, dealt, [&](const std::vector<int>& parts) {
      std::vector<double> other;
      for (std::size_t u = 0; u < 3; ++u) {
        other.push_back(tokens * parts[u] / kParts);
        if (other.back() > units[u].room) return;
      }
      EXPECT_LE(last_end(units, shares), last_end(units, other) + 1e-6) << i;
    });
  }
}

struct Fixed {
  std::vector<double> shares;
  int num_sub_batches = 1;
  double seconds = 0;
};

// The end of the last unit is found to a token, whatever memory the units have.
TEST(WaterFill, RoomThatIsNotNeededChangesNothing) {
  const std::vector<FillUnit> units = {{0, 1, 1e15}, {0, 1, 100}};
  EXPECT_THAT(water_fill(units, 20), ElementsAre(DoubleNear(10, 1e-6), DoubleNear(10, 1e-6)));
}

// Lines through the second half of a curve may begin below no time.
TEST(WaterFill, UnitsOfOneKindGetEqualSharesWhereverTheirLinesBegin) {
  const std::vector<FillUnit> units(3, FillUnit{-8, 1, 1e6});
  EXPECT_THAT(water_fill(units, 18),
              ElementsAre(DoubleNear(6, 1e-6), DoubleNear(6, 1e-6), DoubleNear(6, 1e-6)));
}

// Every mode that an operator might have fixed, with its time.
std::vector<Fixed> all_modes(const MachineModel& machine, const AttentionLoad& load) {
  std::vector<Fixed> modes;
  std::vector<int> dealt;
  const int num_units = static_cast<int>(machine.units.size());
  for_each_deal(num_units, kParts, dealt, [&](const std::vector<int>& parts) {
    for (int sub_batches = 1; sub_batches <= (load.rows >= 2 ? 2 : 1); ++sub_batches) {
      Fixed fixed{{}, sub_batches, 0};
      for (const int part : parts) fixed.shares.push_back(load.tokens * part / kParts);
      fixed.seconds = time_of_shares(machine, load, fixed.shares, sub_batches).total;
      modes.push_back(std::move(fixed));
    }
  });
  return modes;
}

// Batch 1 to 64, context 32 to 8K, units from an eighth to eight times as fast as the own memory,
// near and far.
TEST(ChooseMode, IsWithinThreePercentOfTheBestAndFarFromTheWorst) {
  double least_gain = 1e9;
  for (const double speed : {0.125, 0.5, 1.0, 3.0, 8.0}) {
    for (const double latency : {1e-6, 5e-5, 1e-3}) {
      const MachineModel machine = machine_with({1e-6 / speed, 2e-6 / speed}, latency);
      for (const double rows : {1.0, 2.0, 5.0, 16.0, 64.0}) {
        for (const double context : {32.0, 256.0, 2048.0, 8192.0}) {
          const AttentionLoad load{rows, rows * context, {kPlenty, kPlenty, kPlenty}};
          const std::vector<Fixed> modes = all_modes(machine, load);
          const auto [best, worst] = std::ranges::minmax(modes, {}, &Fixed::seconds);
          const ModeChoice choice = choose_mode(machine, load);
          EXPECT_LE(choice.time.total, 1.03 * best.seconds)
              << speed << ' ' << latency << ' ' << rows << ' ' << context;
          // One row reads the weights once in every mode: only attention can cost more.
          if (rows >= 2 || context >= 8192) {
            least_gain = std::min(least_gain, worst.seconds / choice.time.total);
          }
        }
      }
    }
  }
  EXPECT_GE(least_gain, 1.2) << "the weights are read twice, or tokens lie where they are slow";
}

// Up to a thousand tokens lie in a cache of the compute device, and are read five times as fast.
TEST(ChooseMode, IsWithinThreePercentOfTheBestWhereFewTokensAreInACache) {
  MachineModel machine = machine_with({1e-6}, 1e-6);
  machine.units[0].attention.by_tokens = Curve({{0, 0}, {1000, 0.2e-3}, {2000, 1.2e-3}});
  for (const double rows : {1.0, 8.0, 64.0}) {
    for (const double context : {100.0, 500.0, 8192.0}) {
      const AttentionLoad load{rows, rows * context, {kPlenty, kPlenty}};
      const std::vector<Fixed> modes = all_modes(machine, load);
      const double best = std::ranges::min(modes, {}, &Fixed::seconds).seconds;
      EXPECT_LE(choose_mode(machine, load).time.total, 1.03 * best) << rows << ' ' << context;
    }
  }
}

// Dense layers take 32 ms up to 64 rows, and then 0.5 ms per row.
TEST(TimeOfShares, TheOtherHalfHidesWhatPromptsDoElsewhere) {
  const MachineModel machine = machine_with({1e-6});
  AttentionLoad load{128, 1280, {kPlenty, kPlenty}, 128, 32};
  const auto more = [&](std::vector<double> serial_s, double own_part, int num_sub_batches) {
    const double shares[] = {own_part * load.tokens, (1 - own_part) * load.tokens};
    load.serial_s.clear();
    const double without = time_of_shares(machine, load, shares, num_sub_batches).total;
    load.serial_s = std::move(serial_s);
    return time_of_shares(machine, load, shares, num_sub_batches).total - without;
  };
  EXPECT_NEAR(more({0, 0.05}, 0, 1), 0.05, 1e-9) << "nothing hides it in turn";
  EXPECT_NEAR(more({0, 0.03}, 0, 2), 0, 1e-9);
  // Half of the unit's 1280 tokens in 32 layers are in the same half: 20.48 ms.
  EXPECT_NEAR(more({0, 0.1}, 0, 2), 0.1 - (0.064 - 0.02048), 1e-6);
  EXPECT_NEAR(more({0.05, 0}, 1, 2), 0.05, 1e-9) << "the compute device does it itself";
  EXPECT_NEAR(more({0.04, 0}, 0.5, 1), 0.02, 1e-9) << "one prompt of two lies there";
}

TEST(TimeOfShares, TheWayOfDecodeRowsHidesNothing) {
  MachineModel machine = machine_with({1e-6});
  const AttentionLoad load{128, 1280, {kPlenty, kPlenty}, 128, 32, {0, 0.1}};
  const double shares[] = {0, load.tokens};
  const auto total = [&] { return time_of_shares(machine, load, shares, 2).total; };
  const double near = total();
  // 0.1 ms there, and 0.1 ms back, in 32 layers, for each half.
  machine.units[1].to_unit.latency_s = machine.units[1].from_unit.latency_s = 0.1e-3;
  EXPECT_NEAR(total() - near, 2 * 32 * 0.1e-3, 1e-3);
}

TEST(TimeOfShares, DecodeRowsBesideALongChunkAreNotHiddenByIt) {
  const MachineModel machine = machine_with({1e-6});
  // 200 decode rows: 120 of them in the first half, 80 beside the chunk of 40 rows.
  AttentionLoad load{200, 2000, {kPlenty, kPlenty}, 40, 40, {0, 0}};
  const double shares[] = {0, load.tokens};
  const double none = time_of_shares(machine, load, shares, 2).total;
  load.serial_s[1] = 0.2;
  // The first half's dense layers take 60 ms, and the unit 64 ms for all rows.
  EXPECT_NEAR(time_of_shares(machine, load, shares, 2).total - none,
              0.2 - (0.060 - 80 / 200.0 * 0.064), 1e-6);
}

TEST(TimeOfShares, ALongChunkIsInOneHalfAndDecodeRowsInTheOther) {
  const MachineModel machine = machine_with({1e-12});
  AttentionLoad load{32, 320, {kPlenty, kPlenty}, 224, 112};
  const double shares[] = {0, load.tokens};
  const double even = time_of_shares(machine, load, shares, 2).dense;
  EXPECT_NEAR(even, 2 * 0.064, 1e-9);
  load.chunk_rows = 113;
  EXPECT_NEAR(time_of_shares(machine, load, shares, 2).dense, 0.032 + 0.112, 1e-9);
  load.serial_s = {0, 0.1};
  const double seen = time_of_shares(machine, load, shares, 2).total;
  load.serial_s = {0, 0.032};
  EXPECT_NEAR(seen - time_of_shares(machine, load, shares, 2).total, 0.068, 1e-9);
  load = {200, 2000, {kPlenty, kPlenty}, 56, 56};
  EXPECT_NEAR(time_of_shares(machine, load, shares, 2).dense, 2 * 0.064, 1e-9)
      << "a short chunk takes decode rows beside it";
}

TEST(ChooseMode, FollowsWhatPays) {
  const AttentionLoad small{1, 100, {kPlenty, kPlenty}};
  EXPECT_EQ(choose_mode(machine_with({1e-6}, 1e-3), small).mode, StepMode::kOwnAttention);
  const AttentionLoad large{64, 64 * 1000, {kPlenty, kPlenty}};
  const ModeChoice shares = choose_mode(machine_with({1e-6}, 1e-5), large);
  EXPECT_EQ(shares.mode, StepMode::kShares);
  EXPECT_NEAR(shares.shares[0], shares.shares[1], 0.01 * large.tokens);
  const AttentionLoad cannot{64, 64 * 100, {0, kPlenty}};
  EXPECT_EQ(choose_mode(machine_with({1e-6}, 1e-5), cannot).mode, StepMode::kTwoSubBatches);
}

// The way takes half a millisecond, as 500 tokens do.
TEST(ChooseMode, SharesCountTheWayTheLaunchAndWhatEarlyQueriesHide) {
  const AttentionLoad load{1, 4000, {kPlenty, kPlenty}};
  MachineModel machine = machine_with({1e-6}, 0.25e-3);
  const auto own = [&] { return choose_mode(machine, load).shares[0]; };
  EXPECT_NEAR(own(), 2250, 5);
  machine.early_share = 0.3;  // of the millisecond of a dense layer
  EXPECT_NEAR(own(), 2100, 5);
  machine.units[1].launch_s = 0.1e-3;
  EXPECT_NEAR(own(), 2150, 5);
}

TEST(ChooseMode, OneRowIsNotDivided) {
  const AttentionLoad load{1, 1000, {0, kPlenty}};
  EXPECT_EQ(choose_mode(machine_with({1.5e-6}), load).mode, StepMode::kShares);
  const AttentionLoad two{2, 1000, {0, kPlenty}};
  EXPECT_EQ(choose_mode(machine_with({1.5e-6}), two).mode, StepMode::kTwoSubBatches);
}

// Own attention takes half of the step; the unit gains a quarter of what its way leaves of that.
TEST(ChooseMode, OfTwoWithinOnePercentTheSimplerIsTaken) {
  const AttentionLoad load{1, 1000, {kPlenty, kPlenty}};
  EXPECT_EQ(choose_mode(machine_with({1e-6}, 0.49e-3), load).mode, StepMode::kOwnAttention)
      << "half a percent";
  EXPECT_EQ(choose_mode(machine_with({1e-6}, 0.46e-3), load).mode, StepMode::kShares)
      << "two percent";
}

TEST(ChooseMode, TakesUnitsForWhatTheOwnMemoryCannotHold) {
  const MachineModel machine = machine_with({8e-6}, 1e-3);
  const ModeChoice choice = choose_mode(machine, {4, 4000, {1000, 2000}});
  EXPECT_NE(choice.mode, StepMode::kOwnAttention);
  EXPECT_NEAR(choice.missing_tokens, 1000, 1);
  EXPECT_NEAR(choice.shares[0], 1000, 1);
  EXPECT_EQ(choose_mode(machine, {4, 900, {1000, 2000}}).missing_tokens, 0);
  EXPECT_EQ(choose_mode(machine, {4, 3020, {1000, 2000}}).missing_tokens, 20);
  EXPECT_EQ(choose_mode(machine, {4, 3000.25, {1000, 2000}}).missing_tokens, 0);
}

// A prompt on the unit costs more than it saves: the own memory takes what it can hold, in steps.
TEST(ChooseMode, OtherUnitsGetLessWherePromptsCostMoreThanTheyHide) {
  const MachineModel machine = machine_with({1e-6}, 1e-6);
  const AttentionLoad load{1, 10000, {8000, kPlenty}, 1, 1, {0, 10}};
  const ModeChoice choice = choose_mode(machine, load);
  EXPECT_NEAR(choice.shares[1], 2500, 5) << "a half of the water-filling";
  EXPECT_EQ(choice.missing_tokens, 0) << "with a quarter of it, 750 tokens would lie nowhere";
}

// The dense layers of a half take 2 ms per layer, for 2 decode rows and 254 of prompts.
TEST(ChooseMode, SharesCountTheRowsOfPrompts) {
  const AttentionLoad load{2, 20000, {kPlenty, kPlenty}, 254, 16};
  const ModeChoice choice = choose_mode(machine_with({1e-6}, 1e-6), load);
  EXPECT_EQ(choice.mode, StepMode::kTwoSubBatches);
  EXPECT_NEAR(choice.shares[0], 8000, 10) << "4 ms less than the unit";
}

}  // namespace
}  // namespace tandem::planner
