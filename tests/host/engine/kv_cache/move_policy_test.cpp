// SPDX-License-Identifier: Apache-2.0
//
// The move policy by example, and that moves end from random states.
#include "engine/kv_cache/move_policy.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tandem::engine {
namespace {

using Held = std::vector<std::uint32_t>;

struct State {
  std::vector<MoveUnit> units;
  std::vector<Held> held;
  std::vector<int> last;

  std::optional<KvMove> plan(const MoveOptions& options = {}) const {
    std::vector<MoveSequence> sequences;
    for (std::size_t i = 0; i < held.size(); ++i) sequences.push_back({held[i], last[i]});
    return plan_move(units, sequences, options);
  }
  // The sum of used^2 / weight, which every move lowers.
  double squares() const {
    double sum = 0;
    for (const MoveUnit& unit : units) {
      sum += static_cast<double>(unit.used) * unit.used / unit.weight;
    }
    return sum;
  }
  // By how much the sum of squares changes.
  double apply(const KvMove& move) {
    const double before = squares();
    const auto from = static_cast<std::size_t>(move.from), to = static_cast<std::size_t>(move.to);
    held[move.sequence][from] -= move.num_pages;
    held[move.sequence][to] += move.num_pages;
    units[from].used -= move.num_pages;
    units[to].used += move.num_pages;
    // The last pages go first.
    if (last[move.sequence] == move.from) last[move.sequence] = move.to;
    return squares() - before;
  }
};

TEST(MovePolicy, LeavesBalancedUnitsAlone) {
  const State state{{{true, 100, 40, 0, 1}, {true, 100, 30, 0, 1}}, {{40, 0}, {0, 30}}, {0, 1}};
  EXPECT_FALSE(state.plan());
  EXPECT_FALSE(State{}.plan());
}

TEST(MovePolicy, RelievesAFullUnitByASequenceThatFitsElsewhere) {
  const State state{{{true, 100, 95, 0, 1}, {true, 100, 40, 0, 1}},
                    {{60, 0}, {25, 0}, {10, 0}, {0, 40}},
                    {0, 0, 0, 1}};
  EXPECT_EQ(state.plan(), (KvMove{1, 0, 1, 8})) << "60 pages would pass the low-water mark";
}

TEST(MovePolicy, MovesNothingToAUnitWithoutRoomOrLife) {
  State state{{{true, 100, 95, 0, 1}, {true, 100, 10, 90, 1}}, {{95, 0}, {0, 10}}, {0, 1}};
  EXPECT_FALSE(state.plan()) << "idle pages hold prefixes";
  state.units[1] = {false, 0, 0, 0, 1};
  EXPECT_FALSE(state.plan());
  state.units[1] = {true, 100, 75, 0, 1};
  EXPECT_FALSE(state.plan()) << "above its low-water mark";
}

TEST(MovePolicy, FinishesWhatItHasBegun) {
  State state{{{true, 100, 96, 0, 1}, {true, 100, 0, 0, 1}}, {{20, 0}, {76, 0}}, {0, 0}};
  for (const std::uint32_t pages : {8u, 8u, 4u}) {
    const auto move = state.plan();
    ASSERT_TRUE(move);
    EXPECT_EQ(*move, (KvMove{0, 0, 1, pages}));
    state.apply(*move);
  }
}

TEST(MovePolicy, UnloadsASlowUnitOnlyByWholeSequences) {
  State state{{{true, 100, 20, 0, 1}, {true, 100, 0, 0, 1}}, {{20, 0}}, {0}};
  EXPECT_FALSE(state.plan()) << "the only sequence would be as slow there";
  state.held = {{10, 0}, {10, 0}};
  state.last = {0, 0};
  EXPECT_EQ(state.plan(), (KvMove{0, 0, 1, 8}));
  state.units[1].weight = 10;
  state.held = {{20, 0}};
  state.last = {0};
  EXPECT_EQ(state.plan(), (KvMove{0, 0, 1, 8})) << "a faster unit is worth it";
  MoveOptions options;
  options.whole_sequences = false;
  state.units[1].weight = 1;
  EXPECT_EQ(state.plan(options), (KvMove{0, 0, 1, 8})) << "where pages are dealt, a part may go";
}

TEST(MovePolicy, MovesNoWholeSequenceToAUnitWithRoomForAPartOfItOnly) {
  State state{{{true, 100, 60, 0, 1}, {true, 20, 0, 0, 1}}, {{20, 0}, {40, 0}}, {0, 0}};
  EXPECT_FALSE(state.plan()) << "15 of its 20 pages may be used";
  state.held = {{15, 0}, {45, 0}};
  EXPECT_EQ(state.plan(), (KvMove{0, 0, 1, 8}));
}

TEST(MovePolicy, GivesWayEarlierUnderPressure) {
  const State state{
      {{true, 100, 80, 0, 1}, {true, 100, 60, 0, 1}}, {{10, 0}, {70, 0}, {0, 60}}, {0, 0, 1}};
  EXPECT_FALSE(state.plan());
  MoveOptions pressed;
  pressed.pressed = true;
  EXPECT_EQ(state.plan(pressed), (KvMove{0, 0, 1, 8}));
}

TEST(MovePolicy, TakesTheLeastLoadedTarget) {
  State state{{{true, 100, 95, 0, 1}, {true, 100, 50, 0, 1}, {true, 100, 20, 0, 1}},
              {{10, 0, 0}, {85, 0, 0}, {0, 50, 0}, {0, 0, 20}},
              {0, 0, 1, 2}};
  EXPECT_EQ(state.plan(), (KvMove{0, 0, 2, 8}));
  state.units[1].weight = 10;
  EXPECT_EQ(state.plan(), (KvMove{0, 0, 1, 8})) << "50 pages there take the time of 5";
}

TEST(MovePolicy, MovesNothingBetweenStoppedPairs) {
  State state{{{true, 100, 95, 0, 1}, {true, 100, 20, 0, 1}, {true, 100, 50, 0, 1}},
              {{10, 0, 0}, {85, 0, 0}, {0, 20, 0}, {0, 0, 50}},
              {0, 0, 1, 2}};
  const UnitPair stopped[] = {{0, 1}};
  MoveOptions options;
  options.stopped = stopped;
  EXPECT_EQ(state.plan(), (KvMove{0, 0, 1, 8}));
  EXPECT_EQ(state.plan(options), (KvMove{0, 0, 2, 8}));
  state = {{{true, 100, 60, 0, 1}, {true, 100, 1, 0, 1}}, {{5, 1}}, {1}};
  EXPECT_EQ(state.plan(), (KvMove{0, 0, 1, 5})) << "it is on its way";
  EXPECT_FALSE(state.plan(options));
}

TEST(MovePolicy, MovesNothingFromALostUnit) {
  const State state{{{false, 100, 95, 0, 1}, {true, 100, 5, 0, 1}}, {{95, 0}, {0, 5}}, {0, 1}};
  EXPECT_FALSE(state.plan());
}

TEST(MovePolicy, WhereNoneFitsWholeAPartOfTheLargestMoves) {
  const State state{
      {{true, 100, 96, 0, 1}, {true, 100, 70, 0, 1}}, {{30, 0}, {66, 0}, {0, 70}}, {0, 0, 1}};
  EXPECT_EQ(state.plan(), (KvMove{1, 0, 1, 5})) << "up to the low-water mark";
}

TEST(MovePolicy, ComesToAnEndFromEveryState) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    State state;
    const std::size_t num_units = 1 + pick(4);
    for (std::size_t i = 0; i < num_units; ++i) {
      state.units.push_back({pick(6) > 0, 20 + pick(100), 0, 0, 0.1 + pick(50)});
    }
    for (std::uint32_t i = 0; i < 1 + pick(12); ++i) {
      Held held(num_units);
      int last = -1;
      for (std::size_t unit = 0; unit < num_units; ++unit) {
        MoveUnit& u = state.units[unit];
        if (!u.alive) continue;
        held[unit] = pick(2) * pick(std::min(u.total - u.used, 30u) + 1);
        u.used += held[unit];
        if (held[unit] > 0) last = static_cast<int>(unit);
      }
      state.held.push_back(held);
      state.last.push_back(last);
    }
    MoveOptions options;
    options.whole_sequences = pick(2) == 0;
    options.pressed = pick(2) == 0;
    options.max_pages = 1 + pick(9);
    int num_moves = 0;
    while (const auto move = state.plan(options)) {
      ASSERT_LT(++num_moves, 2000) << "seed " << seed;
      ASSERT_GT(move->num_pages, 0u);
      ASSERT_LE(move->num_pages, options.max_pages);
      ASSERT_LE(move->num_pages, state.held[move->sequence][static_cast<std::size_t>(move->from)]);
      const MoveUnit& to = state.units[static_cast<std::size_t>(move->to)];
      ASSERT_TRUE(to.alive);
      ASSERT_LT(state.apply(*move), 0) << "seed " << seed;
      ASSERT_LE(to.used + to.idle, to.total);
    }
  }
}

}  // namespace
}  // namespace tandem::engine
