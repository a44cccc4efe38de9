// SPDX-License-Identifier: Apache-2.0
//
// A draft model in virtual time: it reads its guesses from its own pages, so a token that it failed
// to overwrite there makes its next guess wrong.
#include <gmock/gmock.h>

#include "common/error.h"
#include "engine/speculation/draft_model.h"
#include "host/engine/loop/virtual_time_rig.h"

namespace tandem::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DraftModelTest : public VirtualTime {
 protected:
  DraftModelTest() {
    draft_options_.vocab_size = kVirtualVocab;
    draft_options_.cost = &draft_cost_;
    draft_options_.device_timeout = std::chrono::seconds(1);
  }
  std::unique_ptr<DraftModel> make(std::uint32_t num_pages = 64, int max_rows = 32) {
    DraftModelParts parts;
    parts.unit = std::make_unique<VirtualUnit>(
        kVirtualGeometry, clock_, VirtualUnitOptions{.num_pages = num_pages, .dies_at = dies_at_});
    parts.make_runner = [this] { return std::make_unique<VirtualRunner>(clock_, draft_options_); };
    parts.max_rows = max_rows;
    parts.vocab_size = kVirtualVocab;
    parts.on_failure = [this](const std::string& reason) { failures_.push_back(reason); };
    return std::make_unique<DraftModel>(std::move(parts));
  }
  static std::vector<TokenId> draft(DraftModel& model, std::uint64_t id,
                                    const std::vector<TokenId>& tokens, int most) {
    DraftWish wish{id, tokens, most, {}};
    model.draft({&wish, 1});
    return wish.drafts;
  }
  static std::vector<TokenId> right(std::vector<TokenId> tokens, int count) {
    std::vector<TokenId> next;
    for (int i = 0; i < count; ++i) {
      next.push_back(next_token(tokens, kVirtualVocab));
      tokens.push_back(next.back());
    }
    return next;
  }
  std::vector<TokenId> text(std::size_t length, std::uint32_t seed) const {
    return request(0, length, 1, seed).prompt;
  }

  const planner::ConstantStepCost draft_cost_{{.per_step = 0.01, .per_row = 0.0001}};
  VirtualRunnerOptions draft_options_;
  Clock::TimePoint dies_at_ = kNever;
  std::vector<std::string> failures_;
};

TEST_F(DraftModelTest, GuessesWhatItsModelSays) {
  for (const bool samples : {true, false}) {
    draft_options_.samples = samples;
    const auto model = make();
    EXPECT_EQ(draft(*model, 1, text(20, 1), 5), right(text(20, 1), 5));
  }
}

// Streams wait for the draft model, so it computes one step of a prompt per call. Those that are
// nearly there come first.
TEST_F(DraftModelTest, APromptLongerThanAStepTakesSeveralCalls) {
  const auto model = make(64, 7);
  const std::vector<TokenId> first = text(20, 1), second = text(3, 2);
  std::vector<std::size_t> num_drafts;
  for (int call = 0; call < 4; ++call) {
    std::vector<DraftWish> wishes;
    wishes.push_back({1, first, 4, {}});
    if (call == 0) wishes.push_back({2, second, 2, {}});
    const Clock::TimePoint begin = clock_.now();
    model->draft(wishes);
    num_drafts.push_back(wishes[0].drafts.size());
    if (call == 0) {
      EXPECT_EQ(wishes[1].drafts, right(second, 2));
      EXPECT_EQ(wishes[1].num_caught_up, 3);
      EXPECT_EQ(wishes[0].num_caught_up, 20);
      EXPECT_EQ(clock_.now() - begin, std::chrono::microseconds(20000 + 800)) << "8 rows";
    }
    if (call == 3) {
      EXPECT_EQ(wishes[0].drafts, right(first, 4));
    }
  }
  EXPECT_THAT(num_drafts, ElementsAre(0, 0, 0, 4)) << "4, 7, 7 and 2 rows of the prompt";
}

TEST_F(DraftModelTest, ATokenThatItDoesNotKnowEndsTheGuessesOfItsSequenceOnly) {
  const auto model = make();
  std::vector<TokenId> foreign = text(20, 1);
  foreign[7] = kVirtualVocab;
  const std::vector<TokenId> known = text(20, 2);
  for (int call = 0; call < 2; ++call) {
    std::vector<DraftWish> wishes;
    wishes.push_back({1, foreign, 4, {}});
    wishes.push_back({2, known, 4, {}});
    model->draft(wishes);
    EXPECT_TRUE(wishes[0].drafts.empty());
    EXPECT_EQ(wishes[1].drafts, right(known, 4));
  }
  EXPECT_TRUE(failures_.empty());
}

// The model that serves draws another token than the one that was guessed.
TEST_F(DraftModelTest, ADifferentTokenOverwritesItsGuess) {
  const auto model = make();
  std::vector<TokenId> tokens = text(14, 1);
  for (int i = 0; i < 30; ++i) {
    const std::vector<TokenId> guesses = draft(*model, 1, tokens, 4);
    ASSERT_EQ(guesses, right(tokens, 4)) << tokens.size();
    const int right_ones = i % 4;
    tokens.insert(tokens.end(), guesses.begin(), guesses.begin() + right_ones);
    tokens.push_back((guesses[static_cast<std::size_t>(right_ones)] + 1) % kVirtualVocab);
  }
}

// A step of 10 ms per guess, and no second one for the prompt.
TEST_F(DraftModelTest, KnownTokensAreComputedOnce) {
  const auto model = make();
  std::vector<TokenId> tokens = text(30, 1);
  draft(*model, 1, tokens, 1);
  tokens.push_back(right(tokens, 1).front());
  const Clock::TimePoint begin = clock_.now();
  draft(*model, 1, tokens, 3);
  EXPECT_EQ(clock_.now() - begin, std::chrono::microseconds(3 * 10100));
}

TEST_F(DraftModelTest, ASequenceWithoutAPageGetsNoGuesses) {
  const auto model = make(3);
  EXPECT_EQ(draft(*model, 1, text(20, 1), 4).size(), 4u);
  EXPECT_TRUE(draft(*model, 2, text(20, 2), 4).empty());
  model->forget(1);
  EXPECT_EQ(draft(*model, 2, text(20, 2), 4), right(text(20, 2), 4));
  EXPECT_TRUE(failures_.empty());
}

TEST_F(DraftModelTest, ASequenceThatNoLongerFitsLeavesItsPagesToOthers) {
  const auto model = make(3);
  EXPECT_EQ(draft(*model, 1, text(10, 1), 4).size(), 4u);
  EXPECT_EQ(draft(*model, 2, text(20, 2), 4).size(), 4u);
  EXPECT_TRUE(draft(*model, 1, text(40, 1), 4).empty());
  EXPECT_EQ(draft(*model, 2, text(40, 2), 4), right(text(40, 2), 4));
}

TEST_F(DraftModelTest, ADeviceThatFailsEndsTheGuessesAndNothingElse) {
  draft_options_.dies_at = Clock::TimePoint(std::chrono::seconds(4));
  options_.speculation.make_drafter = [this] { return make(); };
  start(two_units({}, {}));
  serve({request(0, 20, 200, 1), request(0, 30, 150, 2)}, std::chrono::seconds(1));
  expect_all_served();
  EXPECT_GT(loop_->status().speculation.accepted, 10u);
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("what computes has failed")));
}

TEST_F(DraftModelTest, AUnitThatIsLostEndsTheGuesses) {
  dies_at_ = Clock::TimePoint(std::chrono::seconds(5));
  const auto model = make();
  EXPECT_EQ(draft(*model, 1, text(20, 1), 2).size(), 2u);
  clock_.advance(std::chrono::seconds(10));
  EXPECT_TRUE(draft(*model, 1, text(22, 1), 2).empty());
  EXPECT_TRUE(draft(*model, 2, text(22, 1), 2).empty());
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("attention unit is lost")));
}

TEST_F(DraftModelTest, ServesTogetherWithTheModelThatChecksIt) {
  options_.speculation.make_drafter = [this] { return make(); };
  start(two_units({.num_pages = 20}, {.num_pages = 16}));
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 60; ++i) requests.push_back(request(32, 1 + i % 40, 30, i));
  serve(requests, std::chrono::seconds(5));
  expect_all_served();
  const SpeculationCounts counts = loop_->status().speculation;
  EXPECT_EQ(counts.accepted, counts.drafted);
  EXPECT_GT(counts.accepted, 600u);
  EXPECT_LT(loop_->status().steps, 900u);
}

}  // namespace
}  // namespace tandem::engine
