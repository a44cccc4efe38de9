// SPDX-License-Identifier: Apache-2.0
//
// With guesses, right and wrong ones, a real model on real units gives the tokens that it gives
// without: greedy and sampled, on one unit and on several.
#include <gmock/gmock.h>

#include <random>

#include "engine/speculation/prompt_lookup.h"
#include "host/engine/equivalence.h"

namespace tandem::engine {
namespace {

// Knows the answers; every third guess is wrong.
class Replay final : public Drafter {
 public:
  explicit Replay(std::vector<std::vector<TokenId>> texts) : texts_(std::move(texts)) {}
  std::string_view name() const override { return "replay"; }
  void draft(std::span<DraftWish> wishes) override {
    for (DraftWish& wish : wishes) {
      for (const std::vector<TokenId>& text : texts_) {
        if (text.size() <= wish.tokens.size()) continue;
        if (!std::ranges::equal(std::span(text).first(wish.tokens.size()), wish.tokens)) continue;
        for (std::size_t i = wish.tokens.size(); i < text.size(); ++i) {
          if (static_cast<int>(wish.drafts.size()) == wish.most) break;
          wish.drafts.push_back(++num_guesses_ % 3 == 0 ? (text[i] + 1) % 7 : text[i]);
        }
        break;
      }
    }
  }
  void forget(std::uint64_t) override {}

 private:
  const std::vector<std::vector<TokenId>> texts_;
  int num_guesses_ = 0;
};

class DraftsEquivalence : public Equivalence {
 protected:
  std::vector<std::vector<TokenId>> texts() {
    std::vector<std::vector<TokenId>> texts;
    const std::vector<Request> all = requests();
    for (std::size_t i = 0; i < all.size(); ++i) {
      texts.push_back(all[i].prompt);
      const std::vector<TokenId>& answer = expected()[i].tokens;
      texts.back().insert(texts.back().end(), answer.begin(), answer.end());
    }
    return texts;
  }
  EngineOptions drafting() {
    EngineOptions options;
    options.speculation.make_drafter = [texts = texts()] {
      return std::make_unique<Replay>(texts);
    };
    return options;
  }
  void expect_some_accepted() const {
    EXPECT_GT(status_.speculation.accepted, 20u);
    EXPECT_LT(status_.speculation.accepted, status_.speculation.drafted);
  }
};

TEST_F(DraftsEquivalence, OfOneAndSixteenConcurrentRequests) {
  for (const bool concurrent : {false, true}) {
    expect_same(rig_.cpu_units({256}), drafting(), concurrent);
    expect_some_accepted();
  }
}

TEST_F(DraftsEquivalence, OfUnlikeUnitsSplitByPagesInTwoSubBatches) {
  EngineOptions options = drafting();
  options.placement = Placement::kPages;
  options.num_sub_batches = 2;
  std::vector<NamedUnit> units = rig_.cpu_units({100});
  units.push_back(rig_.naive_unit("near", {.num_pages = 60, .has_link = false}));
  units.push_back(
      rig_.naive_unit("far", {.num_pages = 60, .delay = std::chrono::microseconds(50)}));
  expect_same(std::move(units), options);
  expect_some_accepted();
}

TEST_F(DraftsEquivalence, UnderPagePressure) {
  EngineOptions options = drafting();
  options.max_step_tokens = 64;
  expect_same(rig_.cpu_units({24}), options);
}

// A draw depends on the seed and the logits, not on the step that computed them.
TEST_F(DraftsEquivalence, OfSampledTokens) {
  std::vector<Request> sampled = requests();
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    sampled[i].sampling.temperature = 0.9f;
    sampled[i].sampling.top_p = 0.95f;
    sampled[i].sampling.repetition_penalty = i % 2 == 0 ? 1.0f : 1.1f;
    sampled[i].sampling.seed = i;
  }
  std::vector<std::vector<TokenId>> answers, known;
  auto plain = rig_.engine(rig_.cpu_units({256}), EngineOptions());
  for (const Request& request : sampled) {
    answers.push_back(run_all(*plain, {request}).front().tokens);
    known.push_back(request.prompt);
    known.back().insert(known.back().end(), answers.back().begin(), answers.back().end());
  }
  EngineOptions options;
  options.speculation.make_drafter = [&] { return std::make_unique<Replay>(known); };
  auto guessing = rig_.engine(rig_.cpu_units({256}), options);
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    EXPECT_EQ(run_all(*guessing, {sampled[i]}).front().tokens, answers[i]) << i;
  }
  EXPECT_GT(guessing->status().speculation.accepted, 20u);
}

// A text that repeats itself, and the drafter that operators choose.
TEST_F(DraftsEquivalence, OfALookUpInARepeatedPrompt) {
  std::vector<TokenId> line = rig_.prompt(12, 5), prompt;
  for (int i = 0; i < 6; ++i) prompt.insert(prompt.end(), line.begin(), line.end());
  const Request request = greedy(prompt, 40);
  auto plain = rig_.engine(rig_.cpu_units({64}), EngineOptions());
  const Answer expected_answer = run_all(*plain, {request}).front();
  EngineOptions options;
  options.speculation.make_drafter = [] { return std::make_unique<PromptLookup>(); };
  auto guessing = rig_.engine(rig_.cpu_units({64}), options);
  EXPECT_EQ(run_all(*guessing, {request}).front().tokens, expected_answer.tokens);
  EXPECT_GT(guessing->status().speculation.drafted, 0u);
}

}  // namespace
}  // namespace tandem::engine
