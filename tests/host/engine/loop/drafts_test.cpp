// SPDX-License-Identifier: Apache-2.0
//
// Guessed tokens in virtual time: right, wrong, too many, without pages, and on units that stop
// answering. The tokens are always those of the model.
#include <gmock/gmock.h>

#include "common/error.h"
#include "engine/speculation/speculation.h"
#include "host/engine/loop/virtual_time_rig.h"
#include "host/engine/speculation/replay_drafter.h"

namespace tandem::engine {
namespace {

// Knows the model, and errs in one of `wrong_every` guesses; 0: never.
class Oracle final : public Drafter {
 public:
  explicit Oracle(int wrong_every) : wrong_every_(wrong_every) {}
  std::string_view name() const override { return "oracle"; }
  void draft(std::span<DraftWish> wishes) override {
    for (DraftWish& wish : wishes) {
      std::vector<TokenId> known(wish.tokens.begin(), wish.tokens.end());
      for (int i = 0; i < wish.most; ++i) {
        known.push_back(next_token(known, kVirtualVocab));
        if (wrong_every_ > 0 && ++num_guesses_ % wrong_every_ == 0) {
          known.back() = (known.back() + 1) % kVirtualVocab;
        }
        wish.drafts.push_back(known.back());
      }
    }
  }
  void forget(std::uint64_t) override {}

 private:
  const int wrong_every_;
  int num_guesses_ = 0;
};

class Drafts : public VirtualTime {
 protected:
  void speculate(int wrong_every, int most = 8) {
    options_.speculation.most_drafts = most;
    options_.speculation.make_drafter = [wrong_every] {
      return std::make_unique<Oracle>(wrong_every);
    };
  }
  // The steps that one request of 100 tokens takes.
  std::uint64_t steps_of_100(int wrong_every) {
    if (wrong_every >= 0) speculate(wrong_every);
    start(two_units({}, {}));
    serve({request(0, 20, 100, 1)}, std::chrono::seconds(1));
    expect_all_served();
    return loop_->status().steps;
  }
};

TEST_F(Drafts, RightGuessesTakeFarFewerSteps) {
  EXPECT_EQ(steps_of_100(-1), 100u);
  served_.clear();
  EXPECT_LT(steps_of_100(0), 20u);
  const SpeculationCounts counts = loop_->status().speculation;
  EXPECT_EQ(counts.accepted, counts.drafted);
  EXPECT_GT(counts.accepted, 80u);
}

TEST_F(Drafts, WrongGuessesCostNoTokenAndFewRows) {
  EXPECT_GE(steps_of_100(1), 99u);
  const SpeculationCounts counts = loop_->status().speculation;
  EXPECT_EQ(counts.accepted, 0u);
  EXPECT_GT(counts.drafted, 0u);
  EXPECT_LT(counts.drafted, 30u);
}

TEST_F(Drafts, MixedLoadsGetTheirTokens) {
  for (const int wrong_every : {0, 2, 3, 7}) {
    SCOPED_TRACE(wrong_every);
    served_.clear();
    clock_.advance_to(Clock::TimePoint(std::chrono::hours(wrong_every + 1)));
    speculate(wrong_every);
    options_.num_sub_batches = 1 + wrong_every % 2;
    options_.placement = wrong_every > 2 ? Placement::kPages : Placement::kSequences;
    start(two_units({.num_pages = 20}, {.num_pages = 16}));
    std::vector<Request> requests;
    for (std::uint32_t i = 0; i < 200; ++i) {
      requests.push_back(request(32, 1 + i % 40, 10 + static_cast<int>(i % 5) * 15, i));
    }
    serve(requests, std::chrono::seconds(2));
    expect_all_served();
    EXPECT_GT(loop_->status().speculation.accepted, 100u);
    EXPECT_EQ(pages_used(), 0u);
  }
}

// A draw depends on the seed and the logits, not on the step that computed them.
TEST_F(Drafts, SampledTokensAreThoseWithoutGuesses) {
  runner_.samples = false;  // the double draws nothing at random itself
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 16; ++i) {
    requests.push_back(request(0, 10 + i, 40, i));
    requests.back().sampling.temperature = 4;  // of one-hot logits of 10: any token
    requests.back().sampling.repetition_penalty = i % 2 == 0 ? 1.0f : 1.3f;
    requests.back().sampling.seed = i;
  }
  const auto answers_of = [&] {
    served_.clear();
    last_id_ = 0;
    start(two_units({}, {}));
    for (const Request& sampled : requests) submit(sampled);
    while (!loop_->idle()) step();
    std::vector<std::vector<TokenId>> answers;
    for (const auto& [id, served] : served_) answers.push_back(served.tokens);
    return answers;
  };
  options_.speculation.make_drafter = {};
  const std::vector<std::vector<TokenId>> expected = answers_of();
  std::vector<std::vector<TokenId>> texts;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    texts.push_back(requests[i].prompt);
    texts.back().insert(texts.back().end(), expected[i].begin(), expected[i].end());
  }
  options_.speculation.make_drafter = [&] { return std::make_unique<Replay>(texts); };
  EXPECT_EQ(answers_of(), expected);
  EXPECT_GT(loop_->status().speculation.accepted, 100u);
  EXPECT_LT(loop_->status().speculation.accepted, loop_->status().speculation.drafted);
}

TEST_F(Drafts, AnAnswerNeverExceedsItsLimit) {
  speculate(0);
  start(two_units({}, {}));
  std::vector<Request> requests;
  for (int length = 1; length < 24; ++length) {
    requests.push_back(request(0, 9, length, static_cast<std::uint32_t>(length)));
  }
  serve(requests, std::chrono::seconds(3));
  expect_all_served();
}

TEST_F(Drafts, NobodyGuessesTheTokenBehindTheLastOne) {
  speculate(0);
  start(two_units({}, {}));
  serve({request(0, 20, 2, 1)}, std::chrono::seconds(1));
  EXPECT_EQ(loop_->status().speculation.drafted, 0u);
  serve({request(0, 20, 3, 2)}, std::chrono::seconds(1));
  EXPECT_EQ(loop_->status().speculation.drafted, 1u);
  expect_all_served();
}

TEST_F(Drafts, GuessesAndKnownTokensTogetherKeepTheLimitOfAStep) {
  speculate(0);
  options_.max_step_tokens = 8;
  std::size_t most_rows = 0;
  runner_.before_run = [&](std::span<const RunnerItem> items) {
    std::size_t rows = 0;
    for (const RunnerItem& item : items) rows += item.tokens.size();
    most_rows = std::max(most_rows, rows);
  };
  start(two_units({}, {}));
  for (std::uint32_t i = 0; i < 5; ++i) submit(request(0, 4, 60, i));
  while (!loop_->idle()) step();
  expect_all_served();
  EXPECT_GT(loop_->status().speculation.accepted, 0u);
  EXPECT_EQ(most_rows, 8u);
}

TEST_F(Drafts, AStopTokenAmongGuessesEndsTheAnswerThere) {
  speculate(0);
  start(two_units({}, {}));
  Request stopped = request(0, 20, 60, 1);
  std::vector<TokenId> tokens = stopped.prompt;
  for (int i = 0; i < 40; ++i) tokens.push_back(next_token(tokens, kVirtualVocab));
  stopped.stop_tokens = {tokens.back()};
  const auto first = std::ranges::find(tokens.begin() + 20, tokens.end(), tokens.back());
  const RequestId id = submit(stopped);
  while (!loop_->idle()) step();
  EXPECT_EQ(served_.at(id).last.finish, FinishReason::kStop);
  EXPECT_EQ(served_.at(id).tokens, std::vector<TokenId>(tokens.begin() + 20, first));
  EXPECT_EQ(pages_used(), 0u);
}

// Two sequences hold all pages but two: guesses that need one more are left out, and nobody is
// preempted for them.
TEST_F(Drafts, GuessesTakeNoPageThatASequenceMayNeed) {
  speculate(0);
  options_.prefix_cache = false;
  start(two_units({.num_pages = 3}, {.num_pages = 3}));
  serve({request(0, 17, 28, 1), request(0, 18, 28, 2)}, std::chrono::seconds(0));
  expect_all_served();
  EXPECT_EQ(loop_->status().preemptions, 0u);
  EXPECT_GT(loop_->status().speculation.accepted, 10u);
}

TEST_F(Drafts, BesideAPromptNobodyGuesses) {
  speculate(0);
  options_.max_step_tokens = 16;
  int num_mixed = 0, num_guessing = 0;
  runner_.before_run = [&](std::span<const RunnerItem> items) {
    bool has_prompt = false, has_guesses = false;
    for (const RunnerItem& item : items) {
      has_prompt |= item.past < 200 && item.tokens.size() > 1;
      has_guesses |= item.past >= 200 && item.tokens.size() > 1;
    }
    num_mixed += has_prompt && has_guesses ? 1 : 0;
    num_guessing += has_guesses ? 1 : 0;
  };
  start(two_units({}, {}));
  submit(request(0, 200, 60, 1));
  while (loop_->status().generated_tokens < 5) step();
  submit(request(0, 150, 1, 2));
  while (!loop_->idle()) step();
  expect_all_served();
  EXPECT_EQ(num_mixed, 0);
  EXPECT_GT(num_guessing, 2);
}

TEST_F(Drafts, AUnitThatFallsSilentUnderGuessesLosesNoToken) {
  speculate(3);
  options_.placement = Placement::kPages;
  start(two_units({.dies_at = Clock::TimePoint(std::chrono::seconds(60))}, {}));
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 40; ++i) requests.push_back(request(32, 20, 30, i));
  serve(requests, std::chrono::seconds(4));
  expect_all_served();
  EXPECT_GT(loop_->status().rebuilt_sequences, 0u);
  EXPECT_EQ(pages_used(), 0u);
}

TEST_F(Drafts, ARefusedStepRunsItsGuessesAgainAlone) {
  speculate(0);
  int num_refused = 0;
  runner_.before_run = [&](std::span<const RunnerItem> items) {
    const bool guesses = std::ranges::any_of(
        items, [](const RunnerItem& item) { return item.past > 0 && item.tokens.size() > 1; });
    if (items.size() > 1 && guesses && ++num_refused < 4) throw Error("test", "too much");
  };
  start(two_units({}, {}));
  serve({request(0, 20, 40, 1), request(0, 22, 40, 2)}, std::chrono::seconds(0));
  expect_all_served();
  EXPECT_EQ(loop_->status().refused_steps, 3u);
}

// The first token of the guesses is delivered, then the step fails.
TEST_F(Drafts, AStepThatFailsBetweenItsGuessesRunsFromTheKnownTokens) {
  speculate(0);
  int num_failed = 0;
  runner_.between_rows = [&] {
    if (++num_failed < 4) throw Error("test", "too much");
  };
  start(two_units({}, {}));
  serve({request(0, 20, 40, 1)}, std::chrono::seconds(0));
  expect_all_served();
  EXPECT_EQ(loop_->status().refused_steps, 3u);
}

// Knows no limit of the vocabulary.
class Stranger final : public Drafter {
 public:
  std::string_view name() const override { return "stranger"; }
  void draft(std::span<DraftWish> wishes) override {
    for (DraftWish& wish : wishes) {
      const TokenId next = next_token(wish.tokens, kVirtualVocab);
      for (const TokenId token : {next, TokenId{kVirtualVocab}, TokenId{-1}}) {
        if (static_cast<int>(wish.drafts.size()) < wish.most) wish.drafts.push_back(token);
      }
    }
  }
  void forget(std::uint64_t) override {}
};

TEST_F(Drafts, GuessesOutsideTheVocabularyAreNone) {
  options_.speculation.make_drafter = [] { return std::make_unique<Stranger>(); };
  runner_.before_run = [](std::span<const RunnerItem> items) {
    for (const RunnerItem& item : items) {
      for (const TokenId token : item.tokens) {
        ASSERT_GE(token, 0);
        ASSERT_LT(token, kVirtualVocab);
      }
    }
  };
  start(two_units({}, {}));
  serve({request(0, 20, 60, 1)}, std::chrono::seconds(0));
  expect_all_served();
  const SpeculationCounts counts = loop_->status().speculation;
  EXPECT_GT(counts.accepted, 10u);
  EXPECT_EQ(counts.accepted, counts.drafted);
}

class Counting final : public Drafter {
 public:
  explicit Counting(std::uint64_t& num_forgotten) : num_forgotten_(num_forgotten) {}
  std::string_view name() const override { return "counting"; }
  void draft(std::span<DraftWish>) override {}
  void forget(std::uint64_t) override { ++num_forgotten_; }

 private:
  std::uint64_t& num_forgotten_;
};

// A draft model's pages are for sequences that run.
TEST_F(Drafts, APreemptedSequenceIsForgottenByTheDrafter) {
  std::uint64_t num_forgotten = 0;
  options_.speculation.make_drafter = [&] { return std::make_unique<Counting>(num_forgotten); };
  options_.prefix_cache = false;
  start(two_units({.num_pages = 6}, {.num_pages = 5}));
  for (std::uint32_t i = 0; i < 20; ++i) submit(request(0, 20, 40, i));
  while (!loop_->idle()) step();
  expect_all_served();
  EXPECT_GT(loop_->status().preemptions, 0u);
  EXPECT_EQ(num_forgotten, 20 + loop_->status().preemptions);
}

}  // namespace
}  // namespace tandem::engine
