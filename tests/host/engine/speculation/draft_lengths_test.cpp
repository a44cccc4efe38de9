// SPDX-License-Identifier: Apache-2.0
//
// The lengths against all possible ones of small steps.
#include "engine/speculation/draft_lengths.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace tandem::engine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Candidates = std::vector<DraftCandidate>;

// Tokens per time, in units of the step without guesses.
double rate(const Candidates& candidates, const std::vector<int>& lengths, double share) {
  double tokens = 0, time = 1;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    double value = 1;
    tokens += 1;
    for (int row = 0; row < lengths[i]; ++row) tokens += value *= candidates[i].acceptance;
    time += share * lengths[i];
  }
  return tokens / time;
}

double best_rate(const Candidates& candidates, std::vector<int>& lengths, std::size_t index,
                 double share, int room) {
  if (index == candidates.size()) return rate(candidates, lengths, share);
  double best = 0;
  for (int length = 0; length <= std::min(candidates[index].most, room); ++length) {
    lengths[index] = length;
    best = std::max(best, best_rate(candidates, lengths, index + 1, share, room - length));
  }
  return best;
}

TEST(DraftLengths, AreAsGoodAsTheBestOfAll) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> any(0, 1);
  int num_guessing = 0;
  for (int round = 0; round < 2000; ++round) {
    Candidates candidates(1 + random() % 4);
    for (DraftCandidate& c : candidates) c = {any(random), static_cast<int>(random() % 5)};
    const double share = std::pow(10.0, -2 * any(random));
    const int room = static_cast<int>(random() % 10);
    const std::vector<int> lengths = draft_lengths(candidates, share, room);
    std::vector<int> tried(candidates.size());
    const double best = best_rate(candidates, tried, 0, share, room);
    ASSERT_NEAR(rate(candidates, lengths, share), best, 1e-12 * best) << "round " << round;
    int sum = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      ASSERT_LE(lengths[i], candidates[i].most);
      sum += lengths[i];
    }
    ASSERT_LE(sum, room);
    num_guessing += sum > 0 ? 1 : 0;
  }
  EXPECT_GT(num_guessing, 500);
}

TEST(DraftLengths, AFreeRowIsAlwaysTaken) {
  EXPECT_THAT(draft_lengths(Candidates{{0.9, 8}, {0.1, 3}}, 1e-9, 100), ElementsAre(8, 3));
}

TEST(DraftLengths, WhereARowCostsAsMuchAsATokenNobodyGuesses) {
  EXPECT_THAT(draft_lengths(Candidates(8, {0.99, 8}), 1.0 / 8, 100), Each(0));
  EXPECT_THAT(draft_lengths(Candidates(), 0.1, 100), IsEmpty());
}

}  // namespace
}  // namespace tandem::engine
