// SPDX-License-Identifier: Apache-2.0
//
// What clients of other servers send: names of the model, unknown fields, special tokens, and the
// routes that turn text into tokens and back.
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

const Json kCommonFields = {{"cache_prompt", true},
                            {"repeat_penalty", 1.5},
                            {"session_id", "a"},
                            {"documents", Json::array()}};

TEST(ClientFields, FieldsOfCommonClientsAreIgnoredWithAWarning) {
  RunningServer running;
  HttpClient client(running.port());
  for (const bool stream : {false, true}) {
    Json body = chat_body(kCommonFields);
    body.set("stream", stream);
    const Reply reply = client.post("/v1/chat/completions", body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    const std::string& warning = reply.headers.at("warning");
    for (const char* name : {"299 tandem \"", "cache_prompt", "documents", "session_id"}) {
      EXPECT_NE(warning.find(name), std::string::npos) << warning;
    }
    EXPECT_EQ(warning.find("repeat_penalty"), std::string::npos) << "it is mapped";
  }
  EXPECT_EQ(running.service.requests().at(0).sampling.repetition_penalty, 1.5f);
  const Reply plain = client.post("/v1/completions", completion_body());
  EXPECT_FALSE(plain.headers.contains("warning"));
  const Reply misspelt = client.post("/v1/completions", completion_body({{"temprature", 1}}));
  EXPECT_EQ(misspelt.status, 400) << "it may be misspelt";
  EXPECT_NE(error_of(misspelt)["message"].text().find("'temperature'"), std::string::npos);
}

TEST(ClientFields, WarningsStayShort) {
  Json messages = Json::array();
  for (int i = 0; i < 300; ++i) {
    messages.push_back({{"role", "user"}, {"content", ""}, {"reasoning_content", "x"}});
  }
  RunningServer large({.max_request_tokens = 1 << 16});
  const Reply reply =
      HttpClient(large.port())
          .post("/v1/chat/completions", chat_body({{"messages", messages}, {"max_tokens", 1}}));
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_LT(reply.headers.at("warning").size(), 1000u);
}

TEST(ClientFields, NestedFieldsAreNamedByTheirPath) {
  RunningServer running;
  HttpClient client(running.port());
  const Json message = {{"role", "user"}, {"content", "hi"}, {"reasoning_content", "hm"}};
  const Reply reply =
      client.post("/v1/chat/completions", chat_body({{"messages", Json::array({message})}}));
  EXPECT_EQ(reply.status, 200);
  EXPECT_NE(reply.headers.at("warning").find("messages[0].reasoning_content"), std::string::npos);
}

TEST(ClientFields, AStrictServerRefusesThem) {
  ServerOptions options;
  options.routes.strict = true;
  RunningServer running({}, options);
  HttpClient client(running.port());
  for (const char* name : {"cache_prompt", "repeat_penalty", "session_id", "reasoning_effort"}) {
    const Reply reply = client.post("/v1/completions", completion_body({{name, 1}}));
    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(error_of(reply)["param"], name);
  }
}

TEST(ClientFields, FieldsThatWouldChangeTheAnswerAreStillRefused) {
  RunningServer running;
  HttpClient client(running.port());
  const Json schema = {{"type", "json_object"}};
  EXPECT_EQ(client.post("/v1/chat/completions", chat_body({{"response_format", schema}})).status,
            400);
  EXPECT_EQ(client.post("/v1/completions", completion_body({{"repeat_penalty", 0}})).status, 400);
}

TEST(ClientFields, TheOneModelNeedNotBeNamedAndMayHaveAliases) {
  RunningServer running({.aliases = {"gpt-4o", "default"}});
  HttpClient client(running.port());
  for (const Json& name : {Json(nullptr), Json("fake"), Json("gpt-4o"), Json("default")}) {
    const Json answer = client.post("/v1/completions", completion_body({{"model", name}})).json();
    EXPECT_EQ(answer["model"], "fake") << name;
  }
  const std::string nameless = R"({"messages": [{"role": "user", "content": "hi"}]})";
  EXPECT_EQ(client.post("/v1/chat/completions", nameless).status, 200);
  EXPECT_EQ(client.post("/v1/completions", completion_body({{"model", "gpt-4"}})).status, 404);
  EXPECT_EQ(client.get("/v1/models/gpt-4o").json()["id"], "fake");
  const Json list = client.get("/v1/models").json()["data"];
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["aliases"], Json({"gpt-4o", "default"}));
}

TEST(ClientFields, SpecialTokensOfARawPromptAreParsedUnlessTheRequestSaysNo) {
  RunningServer running;
  HttpClient client(running.port());
  client.post("/v1/completions", completion_body({{"prompt", "a</s>"}}));
  client.post("/v1/completions", completion_body({{"prompt", "a</s>"}, {"parse_special", false}}));
  const Json parts = {{{"text", "</s>"}}, {{"text", "</s>"}, {"parse_special", false}}};
  client.post("/v1/completions", completion_body({{"prompt", parts}}));
  client.post("/v1/chat/completions",
              chat_body({{"messages", {{{"role", "user"}, {"content", "</s>"}}}}}));
  const auto requests = running.service.requests();
  ASSERT_EQ(requests.size(), 4u);
  const std::vector<TokenId> plain = {'<', '/', 's', '>'};
  EXPECT_EQ(requests[0].prompt, (std::vector<TokenId>{256, 'a', 257}));
  EXPECT_EQ(requests[1].prompt, (std::vector<TokenId>{256, 'a', '<', '/', 's', '>'}));
  EXPECT_EQ(requests[2].prompt, (std::vector<TokenId>{256, 257, '<', '/', 's', '>'}));
  EXPECT_EQ(std::count(requests[3].prompt.begin(), requests[3].prompt.end(), 257), 0);
}

TEST(ClientFields, AnEchoOfPartsIsTheirText) {
  RunningServer running;
  HttpClient client(running.port());
  const Json parts = {{{"text", "a"}}, {{"text", "b"}, {"parse_special", false}}};
  const Json body = completion_body({{"prompt", parts}, {"echo", true}, {"max_tokens", 1}});
  EXPECT_EQ(client.post("/v1/completions", body).json()["choices"][0]["text"], "abO");
}

TEST(ClientFields, PartsAreCheckedOneByOne) {
  RunningServer running;
  HttpClient client(running.port());
  const auto refused = [&](const Json& parts) {
    return error_of(client.post("/v1/completions", completion_body({{"prompt", parts}})))["param"];
  };
  EXPECT_EQ(refused({{{"text", "a"}}, "b"}), "prompt[1]");
  EXPECT_EQ(refused({{{"text", 5}}}), "prompt[0].text");
  EXPECT_EQ(refused(Json::array({Json::object()})), "prompt[0].text");
  EXPECT_EQ(refused({{{"text", "a"}, {"parse_special", 1}}}), "prompt[0].parse_special");
}

TEST(ClientFields, RefusalsOfTheEngineAndTheTemplateNameNoModule) {
  RunningServer running({.unhappy_prompt = "bad"});
  HttpClient client(running.port());
  const Reply reply = client.post("/v1/completions", completion_body({{"prompt", "bad"}}));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(error_of(reply)["message"], "this request could never be served");
  const Json messages = Json::array({{{"role", "assistant"}, {"content", "a"}}});
  EXPECT_EQ(
      error_of(client.post("/v1/chat/completions", Json({{"messages", messages}})))["message"],
      "the conversation must not begin with the assistant");
}

TEST(ClientFields, TextThatCannotBeTokenisedIs400) {
  RunningServer running({.untokenisable = "bad"});
  HttpClient client(running.port());
  const Reply reply = client.post("/v1/completions", completion_body({{"prompt", "bad"}}));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(error_of(reply)["param"], "prompt");
  EXPECT_EQ(error_of(reply)["message"], "this text cannot be tokenised") << "without a module";
  const Reply tokens = client.post("/tokenize", Json({{"content", "bad"}}));
  EXPECT_EQ(tokens.status, 400);
  EXPECT_EQ(error_of(tokens)["message"], "this text cannot be tokenised");
  EXPECT_EQ(error_of(tokens)["param"], "content");
}

TEST(ClientFields, CompressedBodiesAre415) {
  RunningServer running;
  HttpClient client(running.port());
  const std::string zipped("\x1f\x8b\x08\x00\x00\x00\x00\x00", 8);
  for (const char* path : {"/v1/completions", "/v1/chat/completions", "/tokenize"}) {
    const Reply bare = client.post(path, zipped);
    EXPECT_EQ(bare.status, 415) << path;
    EXPECT_EQ(error_of(bare)["code"], "unsupported_media_type");
    EXPECT_NE(bare.body.find("gzip"), std::string::npos);
    EXPECT_EQ(client.post(path, zipped, "Content-Encoding: gzip\r\n").status, 415);
  }
  EXPECT_EQ(
      client.post("/v1/completions", completion_body().dump(), "Content-Encoding: identity\r\n")
          .status,
      200);
}

TEST(ClientFields, TextBecomesTokensAndTokensText) {
  RunningServer running;
  HttpClient client(running.port());
  const auto tokens = [&](const Json& body) { return client.post("/tokenize", body).json(); };
  EXPECT_EQ(tokens({{"content", "ab</s>"}}),
            Json({{"tokens", {97, 98, 257}}, {"count", 3}, {"max_model_len", 256}}));
  EXPECT_EQ(tokens({{"content", "</s>"}, {"parse_special", false}})["count"], 4);
  EXPECT_EQ(tokens({{"content", "a"}, {"add_special", true}})["tokens"], Json({256, 97}));
  EXPECT_EQ(tokens({{"prompt", "a"}, {"model", "fake"}})["tokens"], Json({256, 97}));
  EXPECT_EQ(tokens({{"prompt", "a"}, {"add_special_tokens", false}})["tokens"], Json::array({97}));
  EXPECT_EQ(tokens({{"content", "a\xc3\xa9"}, {"with_pieces", true}})["tokens"],
            Json::parse(R"([{"id": 97, "piece": "a"}, {"id": 195, "piece": [195]},
                            {"id": 169, "piece": [169]}])"));
  const Json messages = {{{"role", "user"}, {"content", "hi"}}};
  EXPECT_EQ(tokens({{"messages", messages}})["count"], 21);
  const Json text = client.post("/detokenize", Json({{"tokens", {256, 72, 105, 257}}})).json();
  EXPECT_EQ(text, Json({{"content", "Hi</s>"}, {"prompt", "Hi</s>"}}));
}

TEST(ClientFields, TokenRoutesNameTheFieldThatIsWrong) {
  ServerOptions options;
  options.routes.api_keys = {"secret"};
  RunningServer running({}, options);
  HttpClient client(running.port());
  const auto refused = [&](const char* path, const Json& body) {
    const Reply reply = client.post(path, body.dump(), "Authorization: Bearer secret\r\n");
    EXPECT_EQ(reply.status, 400) << reply.body;
    return error_of(reply)["param"];
  };
  EXPECT_EQ(refused("/tokenize", Json::object()), "content");
  EXPECT_EQ(refused("/tokenize", {{"content", 5}}), "content");
  EXPECT_EQ(refused("/tokenize", {{"prompt", "a"}, {"add_special", "x"}}), "add_special");
  EXPECT_EQ(refused("/tokenize", {{"messages", "x"}}), "messages");
  EXPECT_EQ(refused("/detokenize", Json::object()), "tokens");
  EXPECT_EQ(refused("/detokenize", {{"tokens", {1, 258}}}), "tokens[1]");
  EXPECT_EQ(client.post("/tokenize", std::string("{}")).status, 401);
}

TEST(ClientFields, ASilentStreamSendsComments) {
  ServerOptions options;
  options.routes.heartbeat = std::chrono::milliseconds(5);
  RunningServer running({.hold_after = 0}, options);
  HttpClient client(running.port());
  client.send(test::post_request("/v1/completions", completion_body({{"stream", true}}).dump()));
  EXPECT_EQ(client.read_head().status, 200);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.read_chunk(), ": waiting\n\n");
  running.service.release();
  std::string rest;
  for (std::string chunk = client.read_chunk(); !chunk.empty(); chunk = client.read_chunk()) {
    rest += chunk;
  }
  EXPECT_TRUE(rest.ends_with("data: [DONE]\n\n")) << rest;
  EXPECT_EQ(client.get("/health").status, 200) << "no comment follows the end";
}

}  // namespace
}  // namespace tandem::server
