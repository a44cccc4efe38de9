// SPDX-License-Identifier: Apache-2.0
//
// When guesses are made, by a drafter that always has some.
#include "engine/speculation/speculation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace tandem::engine {
namespace {

class Ready final : public Drafter {
 public:
  Ready(std::set<std::uint64_t>& forgotten, const int& num_caught_up)
      : forgotten_(forgotten), num_caught_up_(num_caught_up) {}
  std::string_view name() const override { return "ready"; }
  void draft(std::span<DraftWish> wishes) override {
    for (DraftWish& wish : wishes) {
      wish.drafts.assign(static_cast<std::size_t>(wish.most), 7);
      wish.num_caught_up = num_caught_up_;
    }
  }
  void forget(std::uint64_t id) override { forgotten_.insert(id); }

 private:
  std::set<std::uint64_t>& forgotten_;
  const int& num_caught_up_;
};

class SpeculationTest : public testing::Test {
 protected:
  // A row is a tenth of a step of one row.
  SpeculationTest() {
    for (int i = 0; i < 300; ++i) speculation_.record_step(1 + i % 4, 0.09 + 0.01 * (1 + i % 4));
  }
  int draft(std::uint64_t id, int most = 8, int room = 100) {
    DraftWish wish{id, tokens_, most, {}};
    speculation_.draft({&wish, 1}, room);
    return static_cast<int>(wish.drafts.size());
  }
  // A step of which the share of right guesses is given.
  int step(std::uint64_t id, bool right) {
    const int length = draft(id);
    if (length > 0) speculation_.record(id, length, right ? length : 0);
    return length;
  }

  std::set<std::uint64_t> forgotten_;
  int num_caught_up_ = 1;
  const std::vector<TokenId> tokens_ = {1, 2, 3};
  Speculation speculation_{{.most_drafts = 8, .make_drafter = [this] {
                              return std::make_unique<Ready>(forgotten_, num_caught_up_);
                            }}};
};

TEST_F(SpeculationTest, ANewSequenceTriesAFew) {
  const int length = draft(1);
  EXPECT_GE(length, 1);
  EXPECT_LE(length, 4);
}

TEST_F(SpeculationTest, RightGuessesBecomeLong) {
  for (int i = 0; i < 20; ++i) step(1, true);
  EXPECT_EQ(draft(1), 8);
  EXPECT_EQ(draft(1, 5), 5);
  EXPECT_EQ(draft(1, 8, 3), 3) << "rows that the step has left";
}

// What a guess takes is known from calls that only guess.
TEST_F(SpeculationTest, AnExpensiveGuessIsShortAndAPromptIsNotCharged) {
  for (int i = 0; i < 20; ++i) step(1, true);
  num_caught_up_ = 500;
  draft(1);
  speculation_.record_drafting(100);
  EXPECT_EQ(draft(1), 8);
  num_caught_up_ = 9;
  draft(1);
  speculation_.record_drafting(100);
  EXPECT_EQ(draft(1), 0);
}

TEST_F(SpeculationTest, APauseKeepsTheRecord) {
  for (int i = 0; i < 20; ++i) step(1, true);
  speculation_.pause(1);
  EXPECT_EQ(forgotten_, std::set<std::uint64_t>{1}) << "by the drafter";
  EXPECT_EQ(draft(1), 8);
}

TEST_F(SpeculationTest, WrongGuessesEndAndAreTriedAgainEvery33rdStep) {
  for (int i = 0; i < 40; ++i) step(1, false);
  std::vector<int> lengths;
  for (int i = 0; i < 330; ++i) lengths.push_back(step(1, false));
  EXPECT_EQ(std::ranges::count(lengths, 1), 10);
  EXPECT_EQ(std::ranges::count(lengths, 0), 320);
}

TEST_F(SpeculationTest, OneProbeThatIsRightIsFollowedByMore) {
  for (int i = 0; i < 200; ++i) step(1, false);
  while (draft(1) == 0) {
  }
  speculation_.record(1, 1, 1);
  int rows = 0;
  for (int i = 0; i < 40; ++i) rows += step(1, true);
  EXPECT_GT(rows, 100);
}

TEST_F(SpeculationTest, ProbesTakeNoRowThatTheStepLacks) {
  for (int i = 0; i < 40; ++i) step(1, false);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(draft(1, 8, 0), 0);
}

TEST_F(SpeculationTest, TwoProbesShareTheRowThatIsLeft) {
  for (int i = 0; i < 40; ++i) {
    step(1, false);
    step(2, false);
  }
  DraftWish wishes[] = {{1, tokens_, 8, {}}, {2, tokens_, 8, {}}};
  for (int i = 0; i < 40; ++i) speculation_.draft(wishes, 0);
  speculation_.draft(wishes, 1);
  EXPECT_EQ(wishes[0].drafts.size() + wishes[1].drafts.size(), 1u);
}

TEST_F(SpeculationTest, ANewSequenceLearnsFromThoseBeforeIt) {
  for (std::uint64_t id = 1; id < 40; ++id) {
    for (int i = 0; i < 5; ++i) step(id, false);
  }
  EXPECT_EQ(draft(100), 0);
}

TEST_F(SpeculationTest, CountsGuessesAndThoseThatWereRight) {
  speculation_.record(1, 4, 4);
  speculation_.record(1, 4, 1);
  EXPECT_EQ(speculation_.counts().drafted, 8u);
  EXPECT_EQ(speculation_.counts().accepted, 5u);
}

// Of 4 guesses of which the second is wrong, two were put to the test.
TEST_F(SpeculationTest, GuessesBehindAWrongOneCountNeitherWay) {
  for (int i = 0; i < 30; ++i) speculation_.record(1, 8, 1);
  const int half = draft(1);
  for (int i = 0; i < 30; ++i) speculation_.record(2, 2, 1);
  EXPECT_EQ(half, draft(2));
}

TEST_F(SpeculationTest, AnEndedSequenceIsForgottenByTheDrafterToo) {
  step(5, true);
  speculation_.forget(5);
  EXPECT_EQ(forgotten_, std::set<std::uint64_t>{5});
}

}  // namespace
}  // namespace tandem::engine
