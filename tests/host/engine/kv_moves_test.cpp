// SPDX-License-Identifier: Apache-2.0
//
// KV that moves between units while requests run: the same tokens, also when a unit dies with a
// page half moved.
#include "host/engine/equivalence.h"

namespace tandem::engine {
namespace {

class KvMoves : public Equivalence {
 protected:
  // Long and short answers in turn: the short ones end, and leave one of two units with all the
  // work.
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
    EXPECT_GT(status_.moved_pages, 5u);
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
    for (const std::uint64_t lose_at_move : {0, 2, 5}) {
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

TEST_F(KvMoves, AreOffUnlessAskedFor) {
  options_.kv_moves = false;
  expect_same(rig_.cpu_units({30, 100}), options_);
  EXPECT_EQ(status_.moved_pages, 0u);
}

}  // namespace
}  // namespace tandem::engine
