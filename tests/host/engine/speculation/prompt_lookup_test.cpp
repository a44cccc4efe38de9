// SPDX-License-Identifier: Apache-2.0
//
// What continues a repeated run of tokens, and that an index that grows finds what a new one does.
#include "engine/speculation/prompt_lookup.h"

#include <gmock/gmock.h>

#include <random>

namespace tandem::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<TokenId> draft(PromptLookup& lookup, std::span<const TokenId> tokens, int most = 3,
                           std::uint64_t id = 1) {
  DraftWish wish{id, tokens, most, {}};
  lookup.draft({&wish, 1});
  return wish.drafts;
}

std::vector<TokenId> draft_anew(const std::vector<TokenId>& tokens, int most = 3) {
  PromptLookup lookup;
  return draft(lookup, tokens, most);
}

TEST(PromptLookup, GuessesWhatFollowedTheLastTokensEarlier) {
  EXPECT_THAT(draft_anew({7, 8, 9, 10, 11, 1, 7, 8}), ElementsAre(9, 10, 11));
}

TEST(PromptLookup, GuessesNothingBehindTokensThatAreNew) {
  EXPECT_THAT(draft_anew({1, 2, 3, 4, 5}), IsEmpty());
  EXPECT_THAT(draft_anew({8, 1, 2, 3, 8}), IsEmpty()) << "one equal token is too little";
  EXPECT_THAT(draft_anew({5}), IsEmpty());
  EXPECT_THAT(draft_anew({5, 5}), IsEmpty());
}

TEST(PromptLookup, TheLongerCommonEndingCounts) {
  EXPECT_THAT(draft_anew({1, 2, 3, 40, 9, 2, 3, 50, 1, 2, 3}, 1), ElementsAre(40));
}

TEST(PromptLookup, OfEqualEndingsTheLaterCounts) {
  EXPECT_THAT(draft_anew({1, 2, 3, 40, 1, 2, 3, 50, 1, 2, 3}, 1), ElementsAre(50));
}

TEST(PromptLookup, AShortPeriodGoesRound) {
  EXPECT_THAT(draft_anew({4, 5, 4, 5, 4, 5}, 5), ElementsAre(4, 5, 4, 5, 4));
}

TEST(PromptLookup, AGrowingSequenceIsAnsweredAsANewOne) {
  std::mt19937 random(1);
  std::vector<TokenId> tokens;
  PromptLookup lookup;
  int num_found = 0;
  for (int i = 0; i < 2000; ++i) {
    for (std::uint32_t added = random() % 3; added > 0; --added) {
      tokens.push_back(static_cast<TokenId>(random() % 9));
    }
    if (tokens.empty()) continue;
    const std::vector<TokenId> found = draft(lookup, tokens, 4);
    ASSERT_EQ(found, draft_anew(tokens, 4)) << tokens.size();
    num_found += found.empty() ? 0 : 1;
  }
  EXPECT_GT(num_found, 1000);
}

TEST(PromptLookup, SequencesDoNotReadEachOther) {
  PromptLookup lookup;
  const std::vector<TokenId> first = {1, 2, 3, 9, 1, 2, 3}, second = {4, 1, 2, 3};
  EXPECT_THAT(draft(lookup, first, 1, 1), ElementsAre(9));
  EXPECT_THAT(draft(lookup, second, 1, 2), IsEmpty());
}

TEST(PromptLookup, AForgottenSequenceLeavesNothingToItsSuccessor) {
  PromptLookup lookup;
  const std::vector<TokenId> first = {1, 2, 3, 9, 1, 2, 3}, second = {4, 5, 6, 7, 8, 1, 2, 3};
  draft(lookup, first);
  lookup.forget(1);
  EXPECT_THAT(draft(lookup, second), IsEmpty());
}

}  // namespace
}  // namespace tandem::engine
