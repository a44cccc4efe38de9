// SPDX-License-Identifier: Apache-2.0
//
// Every field of a request and of an event passes between the server and the engine.
#include "apps/serve/service_messages.h"

#include <gtest/gtest.h>

namespace tandem::apps {
namespace {

TEST(ServiceMessages, ARequestKeepsItsFields) {
  server::GenerationRequest request;
  request.prompt = {1, 2, 3};
  request.max_tokens = 7;
  request.stop = {"stop", "end"};
  request.stop_tokens = {4, 5};
  request.ignore_eos = true;
  request.top_logprobs = 6;
  request.prompt_logprobs = true;
  request.continues_text = false;
  request.caller = "someone";
  request.priority = -4;
  const engine::Request result = engine_request(request);
  EXPECT_EQ(result.prompt, request.prompt);
  EXPECT_EQ(result.max_tokens, 7);
  EXPECT_EQ(result.stop, request.stop);
  EXPECT_EQ(result.stop_tokens, request.stop_tokens);
  EXPECT_TRUE(result.ignore_eos);
  EXPECT_EQ(result.top_logprobs, 6);
  EXPECT_TRUE(result.prompt_logprobs);
  EXPECT_FALSE(result.continues_text);
  EXPECT_EQ(result.caller, "someone");
  EXPECT_EQ(result.priority, -4);
}

TEST(ServiceMessages, ARequestKeepsItsSampling) {
  server::GenerationRequest request;
  request.sampling = {0.5f, 10, 0.9f, 0.1f, 1.2f, 0.3f, 0.4f, {{8, -100.0f}}, 42};
  const model::SamplingParams sampling = engine_request(request).sampling;
  EXPECT_EQ(sampling.temperature, 0.5f);
  EXPECT_EQ(sampling.top_k, 10);
  EXPECT_EQ(sampling.top_p, 0.9f);
  EXPECT_EQ(sampling.min_p, 0.1f);
  EXPECT_EQ(sampling.repetition_penalty, 1.2f);
  EXPECT_EQ(sampling.presence_penalty, 0.3f);
  EXPECT_EQ(sampling.frequency_penalty, 0.4f);
  EXPECT_EQ(sampling.logit_bias, request.sampling.logit_bias);
  EXPECT_EQ(sampling.seed, 42u);
}

TEST(ServiceMessages, BothSidesHaveTheSameDefaults) {
  const engine::Request from_server = engine_request({}), own;
  EXPECT_EQ(from_server.max_tokens, own.max_tokens);
  EXPECT_EQ(from_server.ignore_eos, own.ignore_eos);
  EXPECT_EQ(from_server.top_logprobs, own.top_logprobs);
  EXPECT_EQ(from_server.prompt_logprobs, own.prompt_logprobs);
  EXPECT_EQ(from_server.continues_text, own.continues_text);
  EXPECT_EQ(from_server.sampling.temperature, own.sampling.temperature);
  EXPECT_EQ(from_server.sampling.top_k, own.sampling.top_k);
  EXPECT_EQ(from_server.sampling.top_p, own.sampling.top_p);
  EXPECT_EQ(from_server.sampling.min_p, own.sampling.min_p);
  EXPECT_EQ(from_server.sampling.repetition_penalty, own.sampling.repetition_penalty);
  EXPECT_EQ(from_server.sampling.presence_penalty, own.sampling.presence_penalty);
  EXPECT_EQ(from_server.sampling.frequency_penalty, own.sampling.frequency_penalty);
  EXPECT_EQ(from_server.sampling.seed, own.sampling.seed);
}

engine::RequestEvent engine_event() {
  engine::RequestEvent event;
  event.text = "text";
  event.tokens = {{11, -0.5f, {{11, -0.5f}, {12, -1.5f}}}, {13, -2.5f, {}}};
  event.prompt_logprobs = {-0.25f, -0.75f};
  event.prompt_top = {{{31, -0.25f}, {32, -1.25f}}, {{33, -0.5f}}};
  event.finish = engine::FinishReason::kError;
  event.error = "why";
  event.prompt_tokens = 21;
  event.cached_tokens = 22;
  event.completion_tokens = 23;
  event.times.queued = 0.5;
  return event;
}

TEST(ServiceMessages, AnEventKeepsItsFields) {
  const server::GenerationEvent event = server_event(engine_event(), true);
  EXPECT_EQ(event.text, "text");
  ASSERT_EQ(event.tokens.size(), 2u);
  EXPECT_EQ(event.tokens[0].id, 11);
  EXPECT_EQ(event.tokens[0].logprob, -0.5f);
  ASSERT_EQ(event.tokens[0].top.size(), 2u);
  EXPECT_EQ(event.tokens[0].top[1].id, 12);
  EXPECT_EQ(event.tokens[0].top[1].logprob, -1.5f);
  EXPECT_EQ(event.tokens[1].id, 13);
  EXPECT_TRUE(event.tokens[1].top.empty());
  EXPECT_EQ(event.prompt_logprobs, (std::vector<float>{-0.25f, -0.75f}));
  ASSERT_EQ(event.prompt_top.size(), 2u);
  ASSERT_EQ(event.prompt_top[0].size(), 2u);
  EXPECT_EQ(event.prompt_top[0][1].id, 32);
  EXPECT_EQ(event.prompt_top[0][1].logprob, -1.25f);
  EXPECT_EQ(event.prompt_top[1].at(0).id, 33);
  EXPECT_EQ(event.finish, server::FinishReason::kError);
  EXPECT_EQ(event.error, "why");
  EXPECT_EQ(event.prompt_tokens, 21);
  EXPECT_EQ(event.cached_tokens, 22);
  EXPECT_EQ(event.completion_tokens, 23);
  EXPECT_EQ(event.queue_seconds, 0.5);
}

TEST(ServiceMessages, AnEventWithoutLogProbabilitiesHasNoTokens) {
  const server::GenerationEvent event = server_event(engine_event(), false);
  EXPECT_TRUE(event.tokens.empty());
  EXPECT_EQ(event.text, "text");
}

TEST(ServiceMessages, EveryReasonAndEveryStatusHasItsCounterpart) {
  const auto finish = [](engine::FinishReason reason) {
    engine::RequestEvent event;
    event.finish = reason;
    return server_event(std::move(event), false).finish;
  };
  EXPECT_EQ(finish(engine::FinishReason::kStop), server::FinishReason::kStop);
  EXPECT_EQ(finish(engine::FinishReason::kLength), server::FinishReason::kLength);
  EXPECT_EQ(finish(engine::FinishReason::kCancelled), server::FinishReason::kCancelled);
  EXPECT_EQ(server_event({}, false).finish, std::nullopt);
  const auto status = [](engine::SubmitStatus from) { return server_result({from, {9}}).status; };
  EXPECT_EQ(status(engine::SubmitStatus::kAccepted), server::SubmitStatus::kAccepted);
  EXPECT_EQ(status(engine::SubmitStatus::kQueueFull), server::SubmitStatus::kQueueFull);
  EXPECT_EQ(status(engine::SubmitStatus::kStopping), server::SubmitStatus::kStopping);
  EXPECT_EQ(server_result({engine::SubmitStatus::kAccepted, {9, 10}}).ids,
            (std::vector<server::GenerationId>{9, 10}));
}

TEST(ServiceMessages, MessagesKeepTheirOrder) {
  const auto messages = model_messages({{"user", "a question"}, {"assistant", "an answer"}});
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].role, "user");
  EXPECT_EQ(messages[0].content, "a question");
  EXPECT_EQ(messages[1].role, "assistant");
  EXPECT_EQ(messages[1].content, "an answer");
}

}  // namespace
}  // namespace tandem::apps
