// SPDX-License-Identifier: Apache-2.0
//
// What one request may take: choices, tokens, bytes, seconds, and a worker's time.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "host/server/event_log.h"
#include "host/server/server_fixture.h"
#include "server/openai/answer_builder.h"
#include "server/openai/api_error.h"

namespace tandem::server {
namespace {

using test::chat_body;
using test::completion_body;
using test::error_of;
using test::eventually;
using test::HttpClient;
using test::Json;
using test::post_request;
using test::Reply;
using test::RunningServer;

ServerOptions with_limits(const openai::RequestLimits& limits) {
  ServerOptions options;
  options.routes.request_limits = limits;
  return options;
}

// The message of a 400; fails where it does not hold all of `words`.
void expect_400(const Reply& reply, const std::vector<std::string>& words) {
  EXPECT_EQ(reply.status, 400) << reply.body;
  const std::string message = error_of(reply)["message"];
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << word << " in: " << message;
  }
}

TEST(RequestLimits, ChoicesThatCouldNeverWaitAtOnceAre400AndNot429) {
  RunningServer running({.most_choices = 3});
  HttpClient client(running.port());
  expect_400(client.post("/v1/completions", completion_body({{"n", 4}})), {"3", "4"});
  expect_400(client.post("/v1/chat/completions", chat_body({{"n", 4}})), {"3", "4"});
  expect_400(client.post("/v1/completions", completion_body({{"prompt", {"a", "b", "c", "d"}}})),
             {"4 prompts", "at most 3"});
  expect_400(client.post("/v1/completions", completion_body({{"prompt", {"a", "b"}}, {"n", 2}})),
             {"2 prompts x 2 choices = 4", "at most 3"});
  EXPECT_TRUE(running.service.requests().empty());
  EXPECT_EQ(client.post("/v1/completions", completion_body({{"n", 3}})).status, 200);
}

TEST(RequestLimits, TheOperatorLimitsChoices) {
  RunningServer running({}, with_limits({.max_choices = 2}));
  HttpClient client(running.port());
  expect_400(client.post("/v1/completions", completion_body({{"n", 3}})), {"2", "3"});
  EXPECT_EQ(client.post("/v1/completions", completion_body({{"n", 2}})).status, 200);
}

TEST(RequestLimits, TheOperatorLimitsTheTokensOfAllChoicesTogether) {
  RunningServer running({}, with_limits({.max_tokens = 20}));
  HttpClient client(running.port());
  expect_400(client.post("/v1/completions", completion_body({{"max_tokens", 21}})),
             {"1 choice x 21 tokens = 21 tokens", "at most 20"});
  expect_400(client.post("/v1/chat/completions", chat_body({{"max_tokens", 11}, {"n", 2}})),
             {"2 choices x 11 tokens = 22", "at most 20"});
  expect_400(client.post("/v1/completions", completion_body({{"n", 21}})), {"21", "at most 20"});
  EXPECT_TRUE(running.service.requests().empty());
  EXPECT_EQ(client.post("/v1/completions", completion_body({{"max_tokens", 20}})).status, 200);
  EXPECT_EQ(client.post("/v1/chat/completions", chat_body({{"n", 4}})).status, 200);
  EXPECT_EQ(running.service.requests().at(0).max_tokens, 20);
  EXPECT_EQ(running.service.requests().at(4).max_tokens, 5) << "what nobody asked for is lowered";
}

TEST(RequestLimits, APlainAnswerThatMayBeTooLargeIsRefusedWithItsNumbers) {
  RunningServer running({}, with_limits({.max_answer_bytes = 100'000}));
  HttpClient client(running.port());
  const Json large = {{"n", 8}, {"max_tokens", 64}, {"logprobs", true}, {"top_logprobs", 20}};
  expect_400(client.post("/v1/chat/completions", chat_body(large)),
             {"8 choices x 64 tokens x 21 log-probabilities", "at most 100000"});
  EXPECT_TRUE(running.service.requests().empty());
  Json stream = chat_body(large);
  stream.set("stream", true);
  EXPECT_EQ(client.post("/v1/chat/completions", stream).status, 200);
  EXPECT_EQ(client.post("/v1/chat/completions", chat_body({{"n", 8}, {"max_tokens", 64}})).status,
            200);
}

TEST(RequestLimits, APlainAnswerOfExactlyTheLimitIsMade) {
  RunningServer running({}, with_limits({.max_answer_bytes = 2 * 40 * 8}));  // 8 bytes a token
  HttpClient client(running.port());
  const auto status_of = [&](int tokens) {
    return client.post("/v1/chat/completions", chat_body({{"n", 2}, {"max_tokens", tokens}}))
        .status;
  };
  EXPECT_EQ(status_of(40), 200);
  EXPECT_EQ(status_of(41), 400);
}

TEST(RequestLimits, AnEchoOfManyChoicesIsRefusedAlsoInAStream) {
  RunningServer running({.max_request_tokens = 1 << 20},
                        with_limits({.max_answer_bytes = 100'000}));
  HttpClient client(running.port());
  for (const bool stream : {false, true}) {
    const Json body = completion_body({{"prompt", std::string(20'000, 'x')},
                                       {"n", 6},
                                       {"max_tokens", 1},
                                       {"echo", true},
                                       {"stream", stream}});
    expect_400(client.post("/v1/completions", body),
               {"6 choices", "an echo of 20000 bytes", "at most 100000"});
  }
  EXPECT_TRUE(running.service.requests().empty());
}

TEST(RequestLimits, TheAlternativesOfAnEchoCount) {
  RunningServer running({.max_request_tokens = 1 << 20},
                        with_limits({.max_answer_bytes = 100'000}));
  HttpClient client(running.port());
  const auto status_of = [&](int logprobs) {
    return client
        .post("/v1/completions", completion_body({{"prompt", std::string(500, 'x')},
                                                  {"max_tokens", 1},
                                                  {"echo", true},
                                                  {"logprobs", logprobs},
                                                  {"stream", true}}))
        .status;
  };
  EXPECT_EQ(status_of(1), 200);
  EXPECT_EQ(status_of(5), 400);
}

TEST(RequestLimits, APlainAnswerThatGrowsTooLargeIsEndedAndCancelled) {
  RunningServer running({.max_request_tokens = 1 << 20, .hold_after = 500, .padding_bytes = 4000},
                        with_limits({.max_answer_bytes = 1'000'000}));
  HttpClient client(running.port());
  const Reply reply = client.post("/v1/completions",
                                  completion_body({{"ignore_eos", true}, {"max_tokens", 10'000}}));
  expect_400(reply, {"1000000 bytes", "stream"});
  EXPECT_TRUE(running.service.wait_until_idle());
  EXPECT_EQ(running.service.num_cancelled(), 1u);
}

// 220 tokens with 4 kB of text each fit without log-probabilities.
TEST(RequestLimits, LogProbabilitiesOfAPlainChatCountForItsSize) {
  RunningServer running({.padding_bytes = 4000}, with_limits({.max_answer_bytes = 1'000'000}));
  HttpClient client(running.port());
  Json body = chat_body({{"ignore_eos", true}, {"max_tokens", 220}});
  EXPECT_EQ(client.post("/v1/chat/completions", body).status, 200);
  body.set("logprobs", true);
  body.set("top_logprobs", 20);
  expect_400(client.post("/v1/chat/completions", body), {"1000000 bytes", "stream"});
}

TEST(RequestLimits, AllAnswersThatWaitForTheirReadersHaveOneBound) {
  RunningServer running({.max_request_tokens = 1 << 20, .padding_bytes = 4000},
                        with_limits({.max_held_bytes = 30'000'000}));
  const Json large = completion_body({{"ignore_eos", true}, {"max_tokens", 5000}});  // 20 MB
  HttpClient slow(running.port(), 4096), other(running.port());
  slow.send(post_request("/v1/completions", large.dump()));
  EXPECT_TRUE(eventually([&] { return running.service.requests().size() == 1; }));
  EXPECT_EQ(slow.read_head().status, 200);  // the rest waits in the server
  const Reply refused = other.post("/v1/completions", large);
  EXPECT_EQ(refused.status, 503) << refused.body.substr(0, 300);
  EXPECT_EQ(test::error_of(refused)["code"], "answers_too_large");
  EXPECT_EQ(other.post("/v1/completions", completion_body()).status, 200) << "a small answer";
  slow.close();
  EXPECT_TRUE(eventually([&] { return other.post("/v1/completions", large).status == 200; }));
  EXPECT_EQ(other.post("/v1/completions", large).status, 200) << "what is read is given back";
  EXPECT_EQ(other.post("/v1/completions", large).status, 200);
}

// A worker may still have the call in its hands when the client has read the answer.
TEST(RequestLimits, TheMemoryOfAnAnswerDoesNotWaitForWhatBuiltIt) {
  test::FakeService service;
  openai::GenerationPlan plan;
  plan.prompts.emplace_back();
  const auto memory = std::make_shared<openai::AnswerMemory>(100'000);
  openai::AnswerBuilder builder(service, plan, 1 << 20, memory);
  GenerationEvent event;
  event.text = std::string(90'000, 'x');
  event.finish = FinishReason::kStop;
  std::string out;
  builder.take(0, event, out);
  auto answer = builder.take_held();
  openai::AnswerMemory::Share next(memory);
  EXPECT_THROW(next.hold(90'000), openai::ApiError);
  answer.reset();
  EXPECT_NO_THROW(next.hold(90'000));
}

TEST(RequestLimits, ALongListOfTokensCountsAmongTheAnswers) {
  RunningServer running({}, with_limits({.max_held_bytes = 100'000}));
  HttpClient client(running.port());
  const std::string path = "/tokenize";
  EXPECT_EQ(client.post(path, Json{{"content", std::string(100'000, 'x')}}).status, 503);
  EXPECT_EQ(client.post(path, Json{{"content", std::string(10'000, 'x')}}).status, 200);
}

TEST(RequestLimits, ARequestEndsWithItsTime) {
  const test::EventLog log;
  RunningServer running({.hold_after = 4}, with_limits({.max_seconds = 4}));  // for four tokens
  HttpClient plain(running.port()), stream(running.port());
  const std::string path = "/v1/completions";
  plain.send(post_request(path, completion_body({{"n", 2}}).dump()));
  stream.send(post_request(path, completion_body({{"stream", true}}).dump()));
  const Json answer = plain.read_reply().json();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(answer["choices"][i]["text"], "Once");
    EXPECT_EQ(answer["choices"][i]["finish_reason"], "length");
  }
  EXPECT_EQ(answer["usage"]["completion_tokens"], 8);
  const auto chunks = test::sse_objects(stream.read_reply().body);
  EXPECT_EQ(chunks.back()["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(running.service.wait_until_idle());
  EXPECT_EQ(running.service.num_cancelled(), 3u);
  for (const Json& line : log.requests(2)) EXPECT_EQ(line["outcome"], "deadline");
}

TEST(RequestLimits, ARequestThatGotNothingInItsTimeMayAskAgain) {
  const test::EventLog log;
  RunningServer running({.hold_after = 0, .retry_after_seconds = 9},
                        with_limits({.max_seconds = 1}));
  HttpClient client(running.port());
  const Reply reply = client.post("/v1/completions", completion_body());
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(error_of(reply)["code"], "request_timeout");
  EXPECT_EQ(reply.headers.at("retry-after"), "9");
  EXPECT_TRUE(running.service.wait_until_idle());
  EXPECT_EQ(log.requests(1).at(0)["outcome"], "deadline");
}

TEST(RequestLimits, AFullQueueTellsWhenToAskAgain) {
  RunningServer running({.max_waiting = 0, .retry_after_seconds = 17});
  HttpClient client(running.port());
  const Reply reply = client.post("/v1/completions", completion_body());
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.headers.at("retry-after"), "17");
}

TEST(RequestLimits, HealthAndStreamsGoOnWhileEveryWorkerIsBusy) {
  ServerOptions options;
  options.num_workers = 1;
  options.num_io_threads = 1;
  options.max_unread_requests = 1;
  options.limits.max_stream_buffer_bytes = std::size_t{1} << 30;  // the reader is slow at times
  RunningServer running({.max_request_tokens = 1 << 20, .hold_tokenize = true}, options);
  std::atomic<int> chunks = 0;
  std::atomic<bool> enough = false;
  std::thread streaming([&] {
    HttpClient client(running.port());
    client.send(post_request(
        "/v1/completions",
        completion_body(
            {{"prompt", {72}}, {"stream", true}, {"ignore_eos", true}, {"max_tokens", 1 << 19}})
            .dump()));
    client.read_head();
    while (!enough && !client.read_chunk().empty()) ++chunks;
  });
  EXPECT_TRUE(eventually([&] { return chunks > 0; }));
  HttpClient first(running.port()), second(running.port()), third(running.port());
  const std::string request = post_request("/v1/completions", completion_body().dump());
  first.send(request);
  EXPECT_TRUE(eventually([&] { return running.service.num_tokenizing() == 1; }));
  const int before = chunks;
  second.send(request);
  third.send(request);
  EXPECT_TRUE(eventually([&] { return running.metrics.text().find("503") != std::string::npos; }))
      << "one of them waits, the other is refused";
  EXPECT_EQ(HttpClient(running.port()).get("/health").status, 200);
  EXPECT_TRUE(eventually([&] { return chunks > before + 100; }));
  enough = true;
  running.service.release();
  EXPECT_EQ(first.read_reply().status, 200);
  Reply refused = second.read_reply(), served = third.read_reply();
  if (refused.status == 200) std::swap(refused, served);
  EXPECT_EQ(served.status, 200);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(error_of(refused)["code"], "busy");
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  streaming.join();
}

}  // namespace
}  // namespace tandem::server
