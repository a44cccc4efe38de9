// SPDX-License-Identifier: Apache-2.0
//
// With guesses, right and wrong ones, a real model on real units gives the tokens that it gives
// without, on one unit and on several. (Sampled tokens: drafts_test.cpp, because the last bits of a
// real model's logits depend on the rows of a step.)
#include <gmock/gmock.h>

#include "engine/speculation/prompt_lookup.h"
#include "host/engine/equivalence.h"
#include "host/engine/speculation/replay_drafter.h"

namespace tandem::engine {
namespace {

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
    options.clock = &still_;  // how many guesses pay does not depend on the machine
    options.speculation.make_drafter = [texts = texts()] {
      return std::make_unique<Replay>(texts);
    };
    return options;
  }
  void expect_some_accepted() const {
    EXPECT_GT(status_.speculation.accepted, 20u);
    EXPECT_LT(status_.speculation.accepted, status_.speculation.drafted);
  }

  const VirtualClock still_{};
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

// A text that repeats itself, and the drafter that operators choose.
TEST_F(DraftsEquivalence, OfALookUpInARepeatedPrompt) {
  std::vector<TokenId> line = rig_.prompt(12, 5), prompt;
  for (int i = 0; i < 6; ++i) prompt.insert(prompt.end(), line.begin(), line.end());
  const Request request = greedy(prompt, 40);
  auto plain = rig_.engine(rig_.cpu_units({64}), EngineOptions());
  const Answer expected_answer = run_all(*plain, {request}).front();
  EngineOptions options;
  options.clock = &still_;
  options.speculation.make_drafter = [] { return std::make_unique<PromptLookup>(); };
  auto guessing = rig_.engine(rig_.cpu_units({64}), options);
  EXPECT_EQ(run_all(*guessing, {request}).front().tokens, expected_answer.tokens);
  EXPECT_GT(guessing->status().speculation.drafted, 0u);
}

}  // namespace
}  // namespace tandem::engine
