// SPDX-License-Identifier: Apache-2.0
//
// The endpoints of the API, through real sockets: answers and errors in OpenAI's form.
#include <gtest/gtest.h>

#include "host/server/server_fixture.h"

namespace tandem::server {
namespace {

using test::chat_body;
using test::completion_body;
using test::error_of;
using test::HttpClient;
using test::Json;
using test::Reply;
using test::RunningServer;

TEST(Api, ListsItsModel) {
  RunningServer running({.model_id = "org/name"});
  HttpClient client(running.port());
  const Json list = client.get("/v1/models").json();
  EXPECT_EQ(list["object"], "list");
  ASSERT_EQ(list["data"].size(), 1u);
  EXPECT_EQ(list["data"][0]["id"], "org/name");
  EXPECT_EQ(list["data"][0]["object"], "model");
  EXPECT_EQ(list["data"][0]["created"], 1700000000);
  EXPECT_EQ(client.get("/v1/models/org/name").json()["id"], "org/name");
  EXPECT_EQ(client.get("/v1/models/org%2Fname").json()["id"], "org/name");
  const Reply missing = client.get("/v1/models/other");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(error_of(missing)["code"], "model_not_found");
}

TEST(Api, CompletesAPrompt) {
  RunningServer running;
  HttpClient client(running.port());
  const Json body = client.post("/v1/completions", completion_body({{"max_tokens", 100}})).json();
  EXPECT_EQ(body["id"].text().rfind("cmpl-", 0), 0u);
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["model"], "fake");
  EXPECT_GT(body["created"].integer(), 1700000000);
  EXPECT_EQ(body["choices"], Json::parse(R"([{"index": 0, "text": "Once upon a time.",
                                              "logprobs": null, "finish_reason": "stop"}])"));
  EXPECT_EQ(body["usage"], Json::parse(R"({"prompt_tokens": 3, "completion_tokens": 17,
      "total_tokens": 20, "prompt_tokens_details": {"cached_tokens": 1}})"));
}

TEST(Api, CompletesAChat) {
  RunningServer running;
  HttpClient client(running.port());
  const Json body =
      client.post("/v1/chat/completions", chat_body({{"max_completion_tokens", 4}})).json();
  EXPECT_EQ(body["id"].text().rfind("chatcmpl-", 0), 0u);
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["choices"], Json::parse(R"([{"index": 0, "finish_reason": "length",
      "message": {"role": "assistant", "content": "Once", "refusal": null}, "logprobs": null}])"));
  const auto requests = running.service.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_FALSE(requests[0].continues_text);
  std::string prompt;
  for (const int token : requests[0].prompt) prompt += running.service.token_bytes(token);
  EXPECT_EQ(prompt, "<s>user: hi\nassistant: ");
}

TEST(Api, HandsTheOptionsToTheService) {
  RunningServer running;
  HttpClient client(running.port());
  client.post("/v1/completions", completion_body({{"temperature", 0.5},
                                                  {"seed", 7},
                                                  {"n", 2},
                                                  {"stop", "~"},
                                                  {"stop_token_ids", {3}},
                                                  {"top_k", 4},
                                                  {"logit_bias", {{"5", -1}}},
                                                  {"ignore_eos", true},
                                                  {"logprobs", 3},
                                                  {"max_tokens", 9}}));
  const auto requests = running.service.requests();
  ASSERT_EQ(requests.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(requests[i].sampling.seed, 7 + i);
    EXPECT_EQ(requests[i].sampling.temperature, 0.5f);
    EXPECT_EQ(requests[i].sampling.top_k, 4);
    EXPECT_EQ(requests[i].sampling.logit_bias.at(0).first, 5);
    EXPECT_EQ(requests[i].stop, (std::vector<std::string>{"~"}));
    EXPECT_EQ(requests[i].stop_tokens, (std::vector<server::TokenId>{3}));
    EXPECT_TRUE(requests[i].ignore_eos && requests[i].continues_text);
    EXPECT_FALSE(requests[i].prompt_logprobs);
    EXPECT_EQ(requests[i].top_logprobs, 3);
    EXPECT_EQ(requests[i].max_tokens, 9);
  }
}

TEST(Api, OutputLimitsDefaultAsInTheApiAndNeverPassTheContext) {
  RunningServer running({.max_request_tokens = 40});
  HttpClient client(running.port());
  client.post("/v1/completions", completion_body());
  client.post("/v1/completions", completion_body({{"max_tokens", 1000}}));
  client.post("/v1/chat/completions", chat_body());
  const auto requests = running.service.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].max_tokens, 16);
  EXPECT_EQ(requests[1].max_tokens, 37);
  EXPECT_EQ(requests[2].max_tokens, 40 - static_cast<int>(requests[2].prompt.size()));
}

TEST(Api, ManyPromptsTimesNChoicesAreOneAnswer) {
  RunningServer running;
  HttpClient client(running.port());
  const Json body = client
                        .post("/v1/completions", completion_body({{"prompt", {"a", "bc"}},
                                                                  {"n", 2},
                                                                  {"temperature", 1},
                                                                  {"seed", 11},
                                                                  {"max_tokens", 8},
                                                                  {"echo", true}}))
                        .json();
  ASSERT_EQ(body["choices"].size(), 4u);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(body["choices"][i]["index"], i);
    texts.push_back(body["choices"][i]["text"]);
    EXPECT_EQ(texts[i].rfind(i < 2 ? "a" : "bc", 0), 0u);
  }
  EXPECT_NE(texts[0], texts[1]);
  EXPECT_EQ(texts[0].substr(1), texts[2].substr(2)) << "the same seed draws the same";
  EXPECT_EQ(body["usage"]["prompt_tokens"], 2 + 3);
  EXPECT_EQ(body["usage"]["completion_tokens"], 4 * 8);
}

TEST(Api, StopTextsEndTheOutput) {
  RunningServer running;
  HttpClient client(running.port());
  const Json body = client.post("/v1/completions", completion_body({{"stop", {" "}}})).json();
  EXPECT_EQ(body["choices"][0]["text"], "Once");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
}

TEST(Api, ReportsLogprobsOfBothKinds) {
  RunningServer running;
  HttpClient client(running.port());
  const Json completion =
      client.post("/v1/completions", completion_body({{"logprobs", 2}, {"max_tokens", 2}})).json();
  EXPECT_EQ(completion["choices"][0]["logprobs"], Json::parse(R"({"tokens": ["O", "n"],
      "token_logprobs": [-0.5, -0.5], "text_offset": [0, 1],
      "top_logprobs": [{"O": -0.5, "P": -1.5}, {"n": -0.5, "o": -1.5}]})"));
  const Json chat =
      client
          .post("/v1/chat/completions",
                chat_body({{"logprobs", true}, {"top_logprobs", 2}, {"max_tokens", 1}}))
          .json();
  EXPECT_EQ(chat["choices"][0]["logprobs"], Json::parse(R"({"refusal": null, "content": [
      {"token": "O", "logprob": -0.5, "bytes": [79], "top_logprobs": [
          {"token": "O", "logprob": -0.5, "bytes": [79]},
          {"token": "P", "logprob": -1.5, "bytes": [80]}]}]})"));
}

TEST(Api, EchoWithoutOutputScoresThePrompt) {
  RunningServer running;
  HttpClient client(running.port());
  const Json body = client
                        .post("/v1/completions",
                              completion_body({{"echo", true}, {"logprobs", 0}, {"max_tokens", 0}}))
                        .json();
  EXPECT_EQ(body["choices"][0]["text"], "hi");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["choices"][0]["logprobs"], Json::parse(R"({"tokens": ["<s>", "h", "i"],
      "token_logprobs": [null, -0.25, -0.25], "top_logprobs": null, "text_offset": [0, 0, 1]})"));
  EXPECT_EQ(body["usage"]["completion_tokens"], 0);
  EXPECT_TRUE(running.service.requests().at(0).prompt_logprobs);
}

TEST(Api, EchoGivesTheAlternativesOfThePrompt) {
  RunningServer running;
  HttpClient client(running.port());
  for (const bool stream : {false, true}) {
    const Reply reply = client.post(
        "/v1/completions",
        completion_body({{"echo", true}, {"logprobs", 2}, {"max_tokens", 0}, {"stream", stream}}));
    const Json body = stream ? test::sse_objects(reply.body).at(0) : reply.json();
    EXPECT_EQ(body["choices"][0]["logprobs"]["top_logprobs"],
              Json::parse(R"([null, {"h": -0.25, "i": -1.25}, {"i": -0.25, "j": -1.25}])"));
  }
}

TEST(Api, EchoesAPromptOfTokens) {
  RunningServer running;
  HttpClient client(running.port());
  const Json body =
      client
          .post("/v1/completions",
                completion_body({{"prompt", {72, 105}}, {"echo", true}, {"max_tokens", 1}}))
          .json();
  EXPECT_EQ(body["choices"][0]["text"], "HiO");
  EXPECT_EQ(body["usage"]["prompt_tokens"], 2);
}

TEST(Api, APromptThatCannotFitIsRefusedBeforeItIsTokenised) {
  RunningServer running({.max_request_tokens = 40, .knows_token_length = true});
  HttpClient client(running.port());
  const std::string text(99, 'x');
  const Reply completion = client.post("/v1/completions", completion_body({{"prompt", text}}));
  EXPECT_EQ(completion.status, 400);
  const Json error = error_of(completion);
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["param"], "prompt");
  const std::string message = error["message"];
  EXPECT_NE(message.find("holds 40 tokens"), std::string::npos) << message;
  EXPECT_NE(message.find("at least 99 tokens"), std::string::npos) << message;
  const Json messages = {{{"role", "user"}, {"content", text}}};
  const Reply chat = client.post("/v1/chat/completions", chat_body({{"messages", messages}}));
  EXPECT_EQ(chat.status, 400);
  EXPECT_EQ(error_of(chat)["param"], "messages");
  EXPECT_NE(chat.body.find("at least 117 tokens"), std::string::npos) << chat.body;
  EXPECT_EQ(running.service.num_tokenized(), 0);
  EXPECT_EQ(client.post("/v1/completions", completion_body()).status, 200);
  EXPECT_EQ(running.service.num_tokenized(), 1);
}

TEST(Api, APromptBeyondTheContextIsRefusedWithBothLengths) {
  RunningServer running({.max_request_tokens = 40});
  HttpClient client(running.port());
  const Reply completion =
      client.post("/v1/completions", completion_body({{"prompt", std::string(99, 'x')}}));
  EXPECT_EQ(completion.status, 400);
  const Json error = error_of(completion);
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["param"], "prompt");
  const std::string message = error["message"];
  EXPECT_NE(message.find("40"), std::string::npos);
  EXPECT_NE(message.find("100"), std::string::npos);
  const Json messages = {{{"role", "user"}, {"content", std::string(99, 'x')}}};
  const Reply chat = client.post("/v1/chat/completions", chat_body({{"messages", messages}}));
  EXPECT_EQ(error_of(chat)["param"], "messages");
  EXPECT_TRUE(running.service.requests().empty());
}

TEST(Api, RefusalsOfTheServiceBecomeErrors) {
  RunningServer running({.unhappy_prompt = "impossible"});
  HttpClient client(running.port());
  const Reply refused = client.post("/v1/completions", completion_body({{"prompt", "impossible"}}));
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(error_of(refused)["message"].text().find("never be served"), std::string::npos);
  const Json messages = {{{"role", "assistant"}, {"content", "x"}}};
  const Reply chat = client.post("/v1/chat/completions", chat_body({{"messages", messages}}));
  EXPECT_EQ(chat.status, 400);
  EXPECT_EQ(error_of(chat)["param"], "messages");
}

TEST(Api, AChatTemplateThatCannotBeUsedIsTheServersFault) {
  RunningServer running;
  HttpClient client(running.port());
  const Json messages = {{{"role", "user"}, {"content", test::FakeService::kUnusableTemplate}}};
  const Reply chat = client.post("/v1/chat/completions", chat_body({{"messages", messages}}));
  EXPECT_EQ(chat.status, 422);
  EXPECT_EQ(error_of(chat)["type"], "server_error");
  EXPECT_EQ(error_of(chat)["code"], "chat_template_unusable");
  EXPECT_EQ(error_of(chat)["message"], "the chat template does not parse: line 3, column 9");
  EXPECT_EQ(client.post("/v1/completions", completion_body()).status, 200);
}

TEST(Api, AFullQueueIs429AndTakesNothing) {
  RunningServer running({.max_waiting = 2, .hold_after = 0});
  HttpClient client(running.port());
  const Reply reply = client.post("/v1/completions", completion_body({{"n", 3}}));
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.headers.at("retry-after"), "1");
  EXPECT_EQ(error_of(reply)["type"], "rate_limit_error");
  EXPECT_TRUE(running.service.requests().empty());
  EXPECT_EQ(running.service.num_cancelled(), 0u);
}

TEST(Api, AStoppingServiceIs503) {
  RunningServer running({.stopping = true});
  HttpClient client(running.port());
  EXPECT_EQ(client.get("/health").status, 503);
  const Reply reply = client.post("/v1/completions", completion_body());
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(error_of(reply)["type"], "service_unavailable_error");
}

TEST(Api, AFailureOfTheServiceIs500AndCancelsTheOtherChoices) {
  RunningServer running({.fail_after = 3});
  HttpClient client(running.port());
  const Reply reply = client.post("/v1/chat/completions", chat_body({{"n", 2}}));
  EXPECT_EQ(reply.status, 500);
  EXPECT_NE(error_of(reply)["message"].text().find("on fire"), std::string::npos);
  EXPECT_EQ(client.get("/health").status, 200);
}

TEST(Api, AFailureOfOneChoiceCancelsTheOther) {
  for (const bool stream : {false, true}) {
    RunningServer one({.hold_after = 4, .fail_after = 3, .only_failing = 1});
    HttpClient asking(one.port());
    const Reply reply =
        asking.post("/v1/completions", completion_body({{"n", 2}, {"stream", stream}}));
    EXPECT_EQ(reply.status, stream ? 200 : 500);
    EXPECT_NE(reply.body.find("on fire"), std::string::npos) << reply.body;
    EXPECT_TRUE(one.service.wait_until_idle());
    EXPECT_EQ(one.service.num_cancelled(), 1u);
  }
}

TEST(Api, CachedTokensAreCountedOncePerPrompt) {
  RunningServer running;  // it finds half of every prompt in its cache
  HttpClient client(running.port());
  const auto cached = [&](const Json& extra) {
    const Json usage = client.post("/v1/completions", completion_body(extra)).json()["usage"];
    return usage["prompt_tokens_details"]["cached_tokens"].integer();
  };
  EXPECT_EQ(cached({{"prompt", "1234567"}, {"n", 2}}), 4);
  EXPECT_EQ(cached({{"prompt", {"1234567", "123"}}, {"n", 3}}), 4 + 2);
}

TEST(Api, BadRequestsAreAnsweredAndTheConnectionStaysOpen) {
  RunningServer running;
  HttpClient client(running.port());
  for (const char* body : {"", "{", "[]", "\xff", "{\"model\":\"fake\",\"model\":\"fake\"}"}) {
    const Reply reply = client.post("/v1/completions", std::string(body));
    EXPECT_EQ(reply.status, 400) << body;
    error_of(reply);
  }
  const Reply unknown =
      client.post("/v1/chat/completions", chat_body({{"tools", Json::array({Json::object()})}}));
  EXPECT_EQ(error_of(unknown)["param"], "tools[0].type");
  const Reply model = client.post("/v1/completions", completion_body({{"model", "gpt-4"}}));
  EXPECT_EQ(model.status, 404);
  EXPECT_EQ(error_of(model)["code"], "model_not_found");
  EXPECT_EQ(client.get("/health").status, 200);
}

TEST(Api, LongNonsenseIsQuotedBriefly) {
  RunningServer running;
  HttpClient client(running.port());
  const Reply reply =
      client.post("/v1/completions", completion_body({{std::string(100000, 'k'), 1}}));
  EXPECT_EQ(reply.status, 400);
  EXPECT_LT(reply.body.size(), 2000u);
}

}  // namespace
}  // namespace tandem::server
