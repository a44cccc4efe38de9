// SPDX-License-Identifier: Apache-2.0
//
// KV that moves between units while requests run: the tokens stay the same, also when a unit is
// lost while a page moves.
#include "common/error.h"
#include "engine/kv_cache/kv_mover.h"
#include "host/engine/equivalence.h"
#include "support/hooked_attention_unit.h"

namespace tandem::engine {
namespace {

class KvMoves : public Equivalence {
 protected:
  // Long and short answers in turn: the short ones end and leave one of two units with all the
  // work. Some pages then move; how many depends on when requests arrive.
  std::vector<Request> uneven() const {
    std::vector<Request> all;
    for (std::uint32_t i = 0; i < 10; ++i) {
      all.push_back(greedy(rig_.prompt(40, i), i % 2 == 0 ? 100 : 5));
    }
    return all;
  }

  void expect_same_of_uneven(Engine& engine) {
    auto plain = rig_.engine(rig_.cpu_units({256}), {});
    const auto expected = run_all(*plain, uneven());
    const auto answers = run_all(engine, uneven());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      EXPECT_EQ(answers[i].tokens, expected[i].tokens) << "request " << i;
      EXPECT_EQ(answers[i].finish, FinishReason::kLength) << answers[i].last.error;
    }
    status_ = engine.status();
  }

  EngineOptions options_{.kv_moves = true};
};

TEST_F(KvMoves, ChangeNoTokenWhileTheyBalanceUnits) {
  for (const int sub_batches : {1, 2}) {
    options_.num_sub_batches = sub_batches;
    std::vector<NamedUnit> units;
    units.push_back(rig_.naive_unit("left", {.num_pages = 100}));
    units.push_back(rig_.naive_unit("right", {.num_pages = 100}));
    auto engine = rig_.engine(std::move(units), options_);
    expect_same_of_uneven(*engine);
    EXPECT_GT(status_.moved_pages, 0u);
  }
}

TEST_F(KvMoves, CarryThePagesOfEveryKindOfUnit) {
  options_.max_step_tokens = 64;
  std::vector<NamedUnit> units = rig_.cpu_units({24});
  units.push_back(rig_.naive_unit("card", {.num_pages = 40}));
  units.push_back(rig_.cpu_unit(100));
  units[2].id = "cpu:1";
  expect_same(std::move(units), options_);
  EXPECT_GT(status_.moved_pages, 0u);
}

TEST_F(KvMoves, LoseNoTokenWhenAUnitDiesInTheMidst) {
  for (const bool source_dies : {true, false}) {
    for (const std::uint64_t lose_at_move : {0, 1}) {
      SCOPED_TRACE(testing::Message() << "source " << source_dies << " move " << lose_at_move);
      test::NaiveUnitOptions left = {.num_pages = 100}, right = left;
      (source_dies ? left : right).lose_at_move = lose_at_move;
      std::vector<NamedUnit> units;
      units.push_back(rig_.naive_unit("left", left));
      units.push_back(rig_.naive_unit("right", right));
      auto engine = rig_.engine(std::move(units), options_);
      expect_same_of_uneven(*engine);
      EXPECT_EQ(status_.units[0].alive, !source_dies);
      EXPECT_EQ(status_.units[1].alive, source_dies);
      EXPECT_GE(status_.moved_pages, lose_at_move);
    }
  }
}

TEST_F(KvMoves, StopWhereAPageCannotBeMovedAndNothingElseDoes) {
  for (const bool source_refuses : {true, false}) {
    int calls = 0;
    test::UnitHooks refuse;
    (source_refuses ? refuse.on_export : refuse.on_import) = [&] {
      if (++calls % 2 == 0) throw std::bad_alloc();
      throw Error("attention", "this unit moves no pages");
    };
    std::vector<NamedUnit> units;
    for (const char* id : {"left", "right"}) {
      NamedUnit unit = rig_.naive_unit(id, {.num_pages = 100});
      unit.unit = std::make_unique<test::HookedAttentionUnit>(std::move(unit.unit), refuse);
      units.push_back(std::move(unit));
    }
    auto engine = rig_.engine(std::move(units), options_);
    expect_same_of_uneven(*engine);
    EXPECT_EQ(status_.moved_pages, 0u);
    EXPECT_TRUE(status_.units[0].alive && status_.units[1].alive);
    EXPECT_FALSE(status_.broken);
    EXPECT_GT(calls, 0);
    EXPECT_LE(calls, 2) << "one for each direction";
  }
}

// Ten sequences share 20 pages on the first unit, where all but one of them are.
class SharedPrefix : public testing::Test {
 protected:
  SharedPrefix() {
    kv_.add_unit(1000, 1);
    for (std::uint32_t i = 0; i < 9; ++i) grow(tables_[i], 10 + i, i == 0 ? 16 : 70);
    kv_.add_unit(1000, 1);
    grow(tables_[9], 30, 160);
    EXPECT_EQ(tables_[9].held, (std::vector<std::uint32_t>{20, 10}));
    EXPECT_EQ(kv_.unit_pages(0).used, 61u);
    for (PageTable& table : tables_) {
      held_.push_back(kv_.held_alone(table));
      all_.push_back(&table);
    }
  }
  void grow(PageTable& table, std::uint32_t seed, std::size_t tokens) {
    auto prompt = rig_.prompt(320, 1);
    for (const TokenId token : rig_.prompt(tokens, seed)) prompt.push_back(token);
    kv_.attach(table, prompt);
    EXPECT_TRUE(kv_.extend(table, prompt.size()));
    kv_.publish(table, prompt, prompt.size());
  }

  EngineRig rig_;
  KvCache kv_{16, Placement::kSequences, true};
  std::vector<PageTable> tables_ = std::vector<PageTable>(10);
  std::vector<std::vector<std::uint32_t>> held_;  // alone
  std::vector<PageTable*> all_;
};

TEST_F(SharedPrefix, IsNotDraggedAfterTheOneWhoLivesElsewhere) {
  EXPECT_EQ(held_[9], (std::vector<std::uint32_t>{0, 10}));
  EXPECT_EQ(held_[1], (std::vector<std::uint32_t>{5, 0}));
  std::vector<MoveUnit> units;
  for (const int unit : {0, 1}) units.push_back({true, 1000, kv_.unit_pages(unit).used, 0, 1});
  std::vector<MoveSequence> sequences;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    sequences.push_back({held_[i], tables_[i].blocks.back().unit});
  }
  const auto plan = plan_move(units, sequences, {});
  ASSERT_TRUE(plan) << "the first unit has six times the load";
  EXPECT_EQ(*plan, (KvMove{1, 0, 1, 5})) << "what is its own";
}

TEST_F(SharedPrefix, StaysWhenASequenceMoves) {
  KvMover mover(kv_, rig_.geometry(), std::chrono::seconds(1));
  const NamedUnit from = rig_.cpu_unit(1000), to = rig_.cpu_unit(1000);
  const KvMove move{1, 0, 1, 30};
  for (std::uint32_t moved = 0; moved < 5;) {  // slices are bounded in time
    const MoveResult result = mover.move(move, *from.unit, *to.unit, all_, true);
    ASSERT_GT(result.num_pages, 0u);
    moved += result.num_pages;
  }
  EXPECT_EQ(mover.move(move, *from.unit, *to.unit, all_, true).num_pages, 0u);
  EXPECT_EQ(tables_[1].held, (std::vector<std::uint32_t>{20, 5}));
  EXPECT_EQ(tables_[2].held[0], 25u) << "no other sequence has moved";
  EXPECT_GT(mover.move(move, *from.unit, *to.unit, all_, false).num_pages, 0u)
      << "where pages are dealt, shared ones may go";
}

TEST_F(KvMoves, AreOffUnlessAskedFor) {
  options_.kv_moves = false;
  expect_same(rig_.cpu_units({30, 100}), options_);
  EXPECT_EQ(status_.moved_pages, 0u);
}

}  // namespace
}  // namespace tandem::engine
