// SPDX-License-Identifier: Apache-2.0
//
// What the engine answers to one request: its end and the reason, scores, log-probabilities, stops.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <future>

#include "engine/engine.h"
#include "host/engine/engine_rig.h"

namespace tandem::engine {
namespace {

using ::testing::HasSubstr;

class EngineAnswers : public testing::Test {
 protected:
  Answer run_one(const Request& request, const EngineOptions& options = {}) {
    auto engine = rig_.engine(rig_.cpu_units({64}), options);
    return run_all(*engine, {request}).front();
  }

  EngineRig rig_;
};

TEST_F(EngineAnswers, EndsAtMaxTokens) {
  const Answer answer = run_one(greedy(rig_.prompt(5, 1), 7));
  EXPECT_EQ(answer.tokens.size(), 7u);
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  EXPECT_EQ(answer.last.prompt_tokens, 5);
  EXPECT_EQ(answer.last.completion_tokens, 7);
  EXPECT_FALSE(answer.text.empty());
  EXPECT_GT(answer.last.times.time_to_first_token, 0);
  EXPECT_GE(answer.last.times.time_to_first_token, answer.last.times.prefill);
  EXPECT_GT(answer.last.times.decode, 0);
}

TEST_F(EngineAnswers, ScoresAPromptWithoutGenerating) {
  Request request = greedy(rig_.prompt(40, 1), 0);
  request.prompt_logprobs = true;
  const Answer answer = run_one(request);
  EXPECT_TRUE(answer.tokens.empty());
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  ASSERT_EQ(answer.prompt_logprobs.size(), 39u);
  for (const float logprob : answer.prompt_logprobs) EXPECT_LT(logprob, 0);
  EXPECT_TRUE(answer.last.prompt_top.empty()) << "nobody asked for them";
}

TEST_F(EngineAnswers, GivesTheAlternativesOfEveryPromptToken) {
  Request request = greedy(rig_.prompt(30, 1), 0);
  request.prompt_logprobs = true;
  request.top_logprobs = 3;
  const RequestEvent event = run_one(request).last;
  ASSERT_EQ(event.prompt_top.size(), 29u);
  for (std::size_t i = 0; i < 29; ++i) {
    const auto& top = event.prompt_top[i];
    ASSERT_EQ(top.size(), 3u);
    EXPECT_GE(top[0].logprob, top[1].logprob);
    EXPECT_GE(top[1].logprob, top[2].logprob);
    const auto own = std::ranges::find(top, request.prompt[i + 1], &model::TokenLogprob::id);
    if (own == top.end()) {
      EXPECT_LE(event.prompt_logprobs[i], top[2].logprob);
    } else {
      EXPECT_EQ(event.prompt_logprobs[i], own->logprob);
    }
  }
  request.max_tokens = 3;
  EXPECT_TRUE(run_one(request).last.prompt_top.empty()) << "they came with the first event";
}

TEST_F(EngineAnswers, ScoresAPromptAlikeInOneChunkAndInMany) {
  Request request = greedy(rig_.prompt(90, 1), 3);
  request.prompt_logprobs = true;
  const Answer whole = run_one(request);
  EngineOptions options;
  options.max_step_tokens = 7;
  const Answer chunks = run_one(request, options);
  ASSERT_EQ(whole.prompt_logprobs.size(), 89u);
  ASSERT_EQ(chunks.prompt_logprobs.size(), 89u);
  for (std::size_t i = 0; i < 89; ++i) {
    EXPECT_NEAR(whole.prompt_logprobs[i], chunks.prompt_logprobs[i], 1e-3);
  }
  EXPECT_EQ(whole.tokens, chunks.tokens);
}

TEST_F(EngineAnswers, ScoresAPromptAlikeThoughItIsCached) {
  auto engine = rig_.engine(rig_.cpu_units({64}), {});
  Request request = greedy(rig_.prompt(60, 1), 2);
  run_all(*engine, {request});
  request.prompt_logprobs = true;
  const Answer answer = run_all(*engine, {request}).front();
  EXPECT_EQ(answer.prompt_logprobs.size(), 59u);
  EXPECT_EQ(answer.last.cached_tokens, 0);
}

TEST_F(EngineAnswers, ReportsLogprobsOfTheTokenAndItsAlternatives) {
  auto engine = rig_.engine(rig_.cpu_units({64}), {});
  Request request = greedy(rig_.prompt(9, 3), 4);
  request.top_logprobs = 3;
  std::vector<TokenOutput> outputs;
  std::promise<void> ended;
  engine->submit(request, [&](RequestEvent event) {
    for (const TokenOutput& token : event.tokens) outputs.push_back(token);
    if (event.finish) ended.set_value();
  });
  ended.get_future().wait();
  ASSERT_EQ(outputs.size(), 4u);
  for (const TokenOutput& output : outputs) {
    ASSERT_EQ(output.top.size(), 3u);
    EXPECT_EQ(output.top[0].id, output.id) << "greedy";
    EXPECT_FLOAT_EQ(output.top[0].logprob, output.logprob);
    EXPECT_GE(output.top[0].logprob, output.top[1].logprob);
    EXPECT_GE(output.top[1].logprob, output.top[2].logprob);
  }
}

TEST_F(EngineAnswers, StopsAtAStopTokenAndAtTheEndOfGeneration) {
  const Request free = greedy(rig_.prompt(9, 3), 12);
  const Answer all = run_one(free);
  Request request = free;
  request.stop_tokens = {all.tokens[5]};
  const auto first = std::ranges::find(all.tokens, all.tokens[5]) - all.tokens.begin();
  const Answer stopped = run_one(request);
  EXPECT_EQ(stopped.finish, FinishReason::kStop);
  EXPECT_EQ(stopped.tokens, std::vector(all.tokens.begin(), all.tokens.begin() + first));

  request = free;
  request.sampling.logit_bias = {{rig_.model().tokenizer().eos(), 100.0f}};
  const Answer ignored = run_one(request);
  EXPECT_EQ(ignored.finish, FinishReason::kLength) << "ignore_eos";
  EXPECT_EQ(ignored.tokens.size(), 12u);
  request.ignore_eos = false;
  const Answer eos = run_one(request);
  EXPECT_EQ(eos.finish, FinishReason::kStop);
  EXPECT_TRUE(eos.tokens.empty());
  EXPECT_EQ(eos.text, "");
}

TEST_F(EngineAnswers, StopsAtAStopTextAndDoesNotReturnIt) {
  const Request free = greedy(rig_.prompt(9, 3), 30);
  const Answer all = run_one(free);
  ASSERT_GT(all.text.size(), 8u);
  Request request = free;
  request.stop = {"never in this text", all.text.substr(6, 2)};
  const Answer stopped = run_one(request);
  EXPECT_EQ(stopped.finish, FinishReason::kStop);
  EXPECT_EQ(stopped.text, all.text.substr(0, all.text.find(request.stop[1])));
  EXPECT_EQ(stopped.last.stop_text, request.stop[1]);
  EXPECT_LT(stopped.tokens.size(), all.tokens.size());
}

TEST_F(EngineAnswers, ReleasesHeldBackTextAtTheEnd) {
  const Request free = greedy(rig_.prompt(9, 3), 10);
  const Answer all = run_one(free);
  Request request = free;
  request.stop = {all.text.substr(all.text.size() - 2) + "x"};
  const Answer answer = run_one(request);
  EXPECT_EQ(answer.text, all.text);
  EXPECT_EQ(answer.finish, FinishReason::kLength);
}

TEST_F(EngineAnswers, EndsWhenTheContextIsFull) {
  EngineOptions options;
  options.context_length = 48;
  const Answer answer = run_one(greedy(rig_.prompt(40, 1), 100), options);
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  EXPECT_EQ(answer.tokens.size(), 8u);
}

TEST_F(EngineAnswers, EndsWhenAllPagesAreFull) {
  auto engine = rig_.engine(rig_.cpu_units({2, 1}), {});
  EXPECT_EQ(engine->max_request_tokens(), 48);
  const Answer answer = run_all(*engine, {greedy(rig_.prompt(30, 1), 100)}).front();
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  EXPECT_EQ(answer.tokens.size(), 18u);
}

}  // namespace
}  // namespace tandem::engine
