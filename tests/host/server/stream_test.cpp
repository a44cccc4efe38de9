// SPDX-License-Identifier: Apache-2.0
//
// Event streams through real sockets: form, failures, and clients that are slow or go away.
#include <gmock/gmock.h>

#include <map>
#include <vector>

#include "host/server/event_log.h"
#include "host/server/server_fixture.h"

namespace tandem::server {
namespace {

using test::chat_body;
using test::completion_body;
using test::EventLog;
using test::eventually;
using test::HttpClient;
using test::Json;
using test::post_request;
using test::Reply;
using test::RunningServer;
using ::testing::UnorderedElementsAre;

TEST(Stream, ChatBeginsWithTheRoleAndEndsWithDone) {
  RunningServer running;
  HttpClient client(running.port());
  const Reply reply =
      client.post("/v1/chat/completions", chat_body({{"stream", true}, {"max_tokens", 2}}));
  EXPECT_EQ(reply.headers.at("content-type"), "text/event-stream");
  EXPECT_EQ(reply.headers.at("transfer-encoding"), "chunked");
  const auto chunks = test::sse_objects(reply.body);
  ASSERT_EQ(chunks.size(), 4u);
  const Json deltas = {{{"role", "assistant"}, {"content", ""}},
                       {{"content", "O"}},
                       {{"content", "n"}},
                       Json::object()};
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    EXPECT_EQ(chunks[i]["object"], "chat.completion.chunk");
    EXPECT_EQ(chunks[i]["id"], chunks[0]["id"]);
    EXPECT_EQ(chunks[i]["created"], chunks[0]["created"]);
    EXPECT_EQ(chunks[i]["choices"][0]["delta"], deltas[i]);
    EXPECT_EQ(chunks[i]["choices"][0]["finish_reason"], i == 3 ? Json("length") : Json(nullptr));
    EXPECT_FALSE(chunks[i].contains("usage"));
  }
}

TEST(Stream, CompletionChunksJoinToTheWholeText) {
  RunningServer running;
  HttpClient client(running.port());
  const Reply reply =
      client.post("/v1/completions", completion_body({{"stream", true}, {"max_tokens", 50}}));
  std::string text;
  const auto chunks = test::sse_objects(reply.body);
  for (const Json& chunk : chunks) {
    EXPECT_EQ(chunk["object"], "text_completion");
    text += chunk["choices"][0]["text"];
  }
  EXPECT_EQ(text, "Once upon a time.");
  EXPECT_EQ(chunks.back()["choices"][0]["finish_reason"], "stop");
}

TEST(Stream, UsageComesLastWhenAskedFor) {
  RunningServer running;
  HttpClient client(running.port());
  const Reply reply = client.post(
      "/v1/chat/completions",
      chat_body(
          {{"stream", true}, {"max_tokens", 3}, {"stream_options", {{"include_usage", true}}}}));
  const auto chunks = test::sse_objects(reply.body);
  for (std::size_t i = 0; i + 1 < chunks.size(); ++i)
    EXPECT_EQ(chunks[i].at("usage"), Json(nullptr));
  EXPECT_EQ(chunks.back()["choices"], Json::array());
  EXPECT_EQ(chunks.back()["usage"]["completion_tokens"], 3);
}

TEST(Stream, ManyChoicesShareOneStream) {
  RunningServer running;
  HttpClient client(running.port());
  const Json body =
      chat_body({{"stream", true}, {"n", 3}, {"temperature", 1}, {"seed", 5}, {"max_tokens", 10}});
  std::map<int, std::string> streamed;
  int finished = 0;
  for (const Json& chunk : test::sse_objects(client.post("/v1/chat/completions", body).body)) {
    const Json& choice = chunk["choices"][0];
    streamed[static_cast<int>(choice["index"].integer())] += choice["delta"]["content"].text_or("");
    finished += !choice["finish_reason"].is_null();
  }
  EXPECT_EQ(finished, 3);
  Json plain = body;
  plain.set("stream", false);
  const Json whole = client.post("/v1/chat/completions", plain).json();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(streamed[i], whole["choices"][static_cast<std::size_t>(i)]["message"]["content"]);
  }
  EXPECT_NE(streamed[0], streamed[1]);
}

TEST(Stream, TokensThatSplitACharacterCarryLogprobsWithoutText) {
  RunningServer running({.reply = "\xc3\xa9!"});
  HttpClient client(running.port());
  const Json body = {{"stream", true}, {"max_tokens", 9}};
  Json completion = completion_body(body), chat = chat_body(body);
  completion.set("logprobs", 1);
  chat.set("logprobs", true);
  std::string text;
  Json offsets = Json::array(), tokens = Json::array();
  for (const Json& chunk : test::sse_objects(client.post("/v1/completions", completion).body)) {
    const Json& choice = chunk["choices"][0];
    text += choice["text"];
    for (const Json& offset : choice["logprobs"]["text_offset"].elements())
      offsets.push_back(offset);
    for (const Json& token : choice["logprobs"]["tokens"].elements()) tokens.push_back(token);
  }
  EXPECT_EQ(text, "\xc3\xa9!");
  EXPECT_EQ(tokens, Json({"bytes:\\xc3", "bytes:\\xa9", "!"}));
  EXPECT_EQ(offsets, Json({0, 1, 1}));
  Json bytes = Json::array();
  text.clear();
  for (const Json& chunk : test::sse_objects(client.post("/v1/chat/completions", chat).body)) {
    const Json& choice = chunk["choices"][0];
    text += choice["delta"]["content"].text_or("");
    if (choice["logprobs"].is_null()) continue;
    for (const Json& entry : choice["logprobs"]["content"].elements())
      bytes.push_back(entry["bytes"][0]);
  }
  EXPECT_EQ(text, "\xc3\xa9!");
  EXPECT_EQ(bytes, Json({0xC3, 0xA9, '!'}));
}

TEST(Stream, EchoOpensEveryChoice) {
  RunningServer running;
  HttpClient client(running.port());
  const Reply reply = client.post(
      "/v1/completions",
      completion_body({{"stream", true}, {"echo", true}, {"logprobs", 0}, {"max_tokens", 2}}));
  const auto chunks = test::sse_objects(reply.body);
  EXPECT_EQ(chunks[0]["choices"][0]["text"], "hiO");
  EXPECT_EQ(chunks[0]["choices"][0]["logprobs"]["token_logprobs"],
            Json({nullptr, -0.25, -0.25, -0.5}));
  EXPECT_EQ(chunks[1]["choices"][0]["logprobs"]["text_offset"], Json::array({3}));
}

TEST(Stream, AFailureInTheMiddleIsAnErrorEvent) {
  const EventLog log;
  RunningServer running({.fail_after = 2});
  HttpClient client(running.port());
  const Reply reply = client.post("/v1/chat/completions", chat_body({{"stream", true}, {"n", 2}}));
  EXPECT_EQ(reply.status, 200);
  const auto chunks = test::sse_objects(reply.body);
  EXPECT_EQ(chunks.back()["error"]["type"], "server_error");
  EXPECT_NE(chunks.back()["error"]["message"].text().find("on fire"), std::string::npos);
  EXPECT_EQ(client.get("/health").status, 200) << "the connection stays open";
  EXPECT_EQ(log.requests(1).at(0)["outcome"], "failed");
}

TEST(Stream, RefusalsBeforeAStreamAreStatuses) {
  RunningServer running({.max_waiting = 0});
  HttpClient client(running.port());
  const Reply reply = client.post("/v1/completions", completion_body({{"stream", true}}));
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.headers.at("content-type"), "application/json");
}

TEST(Stream, AClientThatGoesCancelsItsRequests) {
  RunningServer running({.hold_after = 2});
  HttpClient client(running.port());
  client.send(
      post_request("/v1/completions", completion_body({{"stream", true}, {"n", 2}}).dump()));
  EXPECT_EQ(client.read_head().status, 200);
  EXPECT_FALSE(client.read_chunk().empty());
  client.close();
  EXPECT_TRUE(running.service.wait_until_idle());
  EXPECT_EQ(running.service.num_cancelled(), 2u);
}

TEST(Stream, AClientThatGoesWhileItWaitsForAPlainAnswerCancelsToo) {
  RunningServer running({.hold_after = 2});
  for (const bool half_closed : {false, true}) {
    HttpClient client(running.port());
    client.send(post_request("/v1/chat/completions", chat_body().dump()));
    ASSERT_TRUE(eventually([&] { return running.service.num_running() == 1; }));
    if (half_closed) {
      client.finish_sending();
    } else {
      client.close();
    }
    EXPECT_TRUE(running.service.wait_until_idle());
  }
  EXPECT_EQ(running.service.num_cancelled(), 2u);
}

TEST(Stream, AClientThatReadsNothingIsDroppedAndTheOthersAreServed) {
  ServerOptions options;
  options.limits.max_stream_buffer_bytes = 64 * 1024;
  const EventLog log;
  RunningServer running({.max_request_tokens = 1 << 20, .padding_bytes = 4000}, options);
  HttpClient slow(running.port(), 4096);
  slow.send(post_request(
      "/v1/completions",
      completion_body({{"stream", true}, {"ignore_eos", true}, {"max_tokens", 1 << 19}}).dump()));
  ASSERT_TRUE(eventually([&] { return running.service.requests().size() == 1; }));
  HttpClient other(running.port());
  EXPECT_EQ(other.post("/v1/completions", completion_body()).status, 200);
  EXPECT_TRUE(eventually([&] { return running.service.num_cancelled() == 1; }));
  EXPECT_TRUE(running.service.wait_until_idle());
  std::vector<Json> outcomes;
  for (const Json& line : log.requests(2)) outcomes.push_back(line["outcome"]);
  EXPECT_THAT(outcomes, UnorderedElementsAre(Json("client_slow"), Json("complete")));
}

TEST(Stream, OneLargePieceIsNoSlowClient) {
  ServerOptions options;
  options.limits.max_stream_buffer_bytes = 4096;
  RunningServer running({.max_request_tokens = 1 << 20}, options);
  HttpClient client(running.port());
  const std::string prompt(900'000, 'x');
  const Json body =
      completion_body({{"prompt", prompt}, {"stream", true}, {"echo", true}, {"max_tokens", 1}});
  const auto chunks = test::sse_objects(client.post("/v1/completions", body).body);
  EXPECT_EQ(chunks.at(0)["choices"][0]["text"], prompt + "O");
}

// The large piece was of the request before.
TEST(Stream, ALargePieceExcusesOnlyItsOwnStream) {
  ServerOptions options;
  options.limits.max_stream_buffer_bytes = 64 * 1024;
  const EventLog log;
  RunningServer running({.max_request_tokens = 1 << 21, .padding_bytes = 4000}, options);
  HttpClient slow(running.port(), 4096);
  const Json large = completion_body({{"prompt", std::string(1'500'000, 'x')},
                                      {"stream", true},
                                      {"echo", true},
                                      {"max_tokens", 1}});
  EXPECT_EQ(slow.post("/v1/completions", large).status, 200);
  slow.send(post_request(
      "/v1/completions",
      completion_body({{"stream", true}, {"ignore_eos", true}, {"max_tokens", 1 << 19}}).dump()));
  EXPECT_TRUE(eventually([&] { return running.service.num_cancelled() == 1; }));
  const std::string text = log.text(), sign = "dropping a client that left ";
  ASSERT_NE(text.find(sign), std::string::npos);
  EXPECT_LT(std::stol(text.substr(text.find(sign) + sign.size())), 1'000'000);
}

TEST(Stream, AClientThatStallsIsDroppedByTheDeadline) {
  ServerOptions options;
  options.limits.max_stream_buffer_bytes = std::size_t{1} << 30;
  options.limits.stall_timeout = std::chrono::milliseconds(100);
  const EventLog log;
  RunningServer running({.max_request_tokens = 1 << 20, .hold_after = 4000, .padding_bytes = 4000},
                        options);
  HttpClient slow(running.port(), 4096);
  slow.send(post_request(
      "/v1/completions",
      completion_body({{"stream", true}, {"ignore_eos", true}, {"max_tokens", 1 << 19}}).dump()));
  ASSERT_TRUE(eventually([&] { return running.service.requests().size() == 1; }));
  EXPECT_TRUE(eventually([&] { return running.service.num_cancelled() == 1; }));
  EXPECT_EQ(log.requests(1).at(0)["outcome"], "client_slow");
}

TEST(Stream, LateEventsOfAFinishedExchangeAreForgotten) {
  RunningServer running({.hold_after = 3, .fail_after = 2, .only_failing = 1});
  HttpClient client(running.port());
  // The first choice fails: the second is cancelled, its events come when nobody waits.
  EXPECT_EQ(client.post("/v1/completions", completion_body({{"n", 2}})).status, 500);
  EXPECT_TRUE(running.service.wait_until_idle());
  EXPECT_EQ(client.get("/health").body, R"({"status":"ok"})");
  running.service.release();
  EXPECT_EQ(client.post("/v1/completions", completion_body({{"max_tokens", 4}}))
                .json()["choices"][0]["text"],
            "Once");
}

}  // namespace
}  // namespace tandem::server
