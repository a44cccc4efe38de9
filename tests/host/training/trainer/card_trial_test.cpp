// SPDX-License-Identifier: Apache-2.0
//
// Which place a trial takes, by times that are played here.
#include "training/trainer/card_trial.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "common/error.h"
#include "support/ranks.h"

namespace tandem::training {
namespace {

constexpr double kNoCards = std::numeric_limits<double>::infinity();

struct Played {
  double host = 1, cards = 1, predicted = 0.1;
  bool too_small = false;
  std::vector<bool> on_cards;  // of every update
  int loads = 0;
  bool uses = false;
  bool open = false;

  void run(collectives::Group* group, int steps) {
    CardTrial trial(group, std::chrono::milliseconds(20'000),
                    {[&] {
                       ++loads;
                       open = true;
                       if (too_small) throw Error("test", "too small");
                       uses = true;
                     },
                     [&] { open = uses = false; },
                     // The first of each place is slow.
                     [&] { return (on_cards.size() % 4 == 1 ? 50 : 1) * (uses ? cards : host); },
                     [&] { return predicted; }});
    for (int step = 0; step < steps; ++step) {
      trial.before_update();
      on_cards.push_back(uses);
      trial.after_update();
    }
    EXPECT_EQ(trial.uses_cards(), uses);
    EXPECT_EQ(open, uses) << "cards that are not used are closed";
  }
};

const std::vector<bool> kTried = {false, false, false, false, true, true, true, true};

TEST(CardTrial, FasterCardsStay) {
  Played played{.cards = 0.9};
  played.run(nullptr, 20);
  std::vector<bool> expected = kTried;
  expected.resize(20, true);
  EXPECT_EQ(played.on_cards, expected);
  EXPECT_EQ(played.loads, 1);
}

TEST(CardTrial, CardsThatAreNotFasterGo) {
  Played played{.cards = 1};
  played.run(nullptr, 20);
  std::vector<bool> expected = kTried;
  expected.resize(20, false);
  EXPECT_EQ(played.on_cards, expected);
}

TEST(CardTrial, CardsThatTheModelDoesNotPreferAreNotTried) {
  for (const double predicted : {1.0, kNoCards}) {
    Played played{.cards = 0.1, .predicted = predicted};
    played.run(nullptr, 20);
    EXPECT_EQ(played.on_cards, std::vector<bool>(20, false));
    EXPECT_EQ(played.loads, 0);
  }
}

TEST(CardTrial, TheSlowestRankDecidesForAll) {
  std::vector<Played> ranks(2);
  ranks[0].cards = 0.5;
  ranks[1].cards = 1.5;  // slower than any rank's host memory
  const auto run_all = [&] {
    test::run_ranks(2, [&](std::unique_ptr<transport::Transport> transport) {
      collectives::Group group(std::move(transport));
      ranks[static_cast<std::size_t>(group.rank())].run(&group, 12);
    });
  };
  run_all();
  for (const Played& rank : ranks) EXPECT_FALSE(rank.uses);
  EXPECT_EQ(ranks[0].on_cards, ranks[1].on_cards);
  ranks.assign(2, {.cards = 0.5});
  run_all();
  for (const Played& rank : ranks) EXPECT_TRUE(rank.uses);
  ranks.assign(2, {.cards = 0.5});
  ranks[1].too_small = true;
  run_all();
  for (const Played& rank : ranks) EXPECT_FALSE(rank.uses);
  EXPECT_TRUE(ranks[0].on_cards[5]);
  EXPECT_FALSE(ranks[1].on_cards[5]);
}

}  // namespace
}  // namespace tandem::training
