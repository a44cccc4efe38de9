// SPDX-License-Identifier: Apache-2.0
//
// The two logprob shapes, and the UTF-8 they depend on.
#include "server/openai/logprobs.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "host/server/fake_service.h"

namespace tandem::server::openai {
namespace {

using nlohmann::json;

template <typename Logprobs>
json taken(Logprobs& logprobs) {
  std::string text;
  logprobs.take(text);
  return json::parse(text);
}

TEST(Logprobs, ChatListsBytesAndAlternatives) {
  test::FakeService service;
  const float lowest = -std::numeric_limits<float>::infinity();
  ChatLogprobs logprobs(service);
  logprobs.add({{'A', -0.5f, {{'A', -0.5f}, {0xF0, lowest}}}});
  const json report = taken(logprobs);
  EXPECT_EQ(report, json::parse(R"({"content": [{"token": "A", "logprob": -0.5, "bytes": [65],
      "top_logprobs": [{"token": "A", "logprob": -0.5, "bytes": [65]},
                       {"token": "\\xf0", "logprob": -9999.0, "bytes": [240]}]}],
      "refusal": null})"));
}

TEST(Logprobs, CompletionsCountOffsetsInCodePoints) {
  test::FakeService service;
  CompletionLogprobs logprobs(service, 1);
  logprobs.add({{'x', -1, {{'x', -1}}}, {0xC3, -1, {{'y', -2}}}, {0xA9, -1, {}}});
  logprobs.add({{'z', -1, {}}});
  EXPECT_EQ(taken(logprobs), json::parse(R"({"tokens": ["x", "bytes:\\xc3", "bytes:\\xa9", "z"],
      "token_logprobs": [-1.0, -1.0, -1.0, -1.0],
      "top_logprobs": [{"x": -1.0}, {"y": -2.0, "bytes:\\xc3": -1.0}, {"bytes:\\xa9": -1.0}, {"z": -1.0}],
      "text_offset": [0, 1, 2, 2]})"));
  logprobs.add({{'!', -1, {}}});
  EXPECT_EQ(taken(logprobs)["text_offset"], json({3}));
}

TEST(Logprobs, CompletionsWithoutAlternativesReportNone) {
  test::FakeService service;
  CompletionLogprobs logprobs(service, 0);
  logprobs.add({{'x', -1, {}}});
  EXPECT_EQ(taken(logprobs)["top_logprobs"], json(nullptr));
}

TEST(Logprobs, EchoedPromptAlignsWithItsText) {
  test::FakeService service;
  CompletionLogprobs logprobs(service, 0);
  GenerationEvent event;
  event.prompt_logprobs = {-1, -2, -3};
  logprobs.add_prompt({test::FakeService::kBos, ' ', 'a', 'b'}, event, "ab");
  logprobs.add({{'c', -4, {}}});
  const json report = taken(logprobs);
  EXPECT_EQ(report["tokens"], json({"<s>", " ", "a", "b", "c"}));
  EXPECT_EQ(report["token_logprobs"], json({nullptr, -1.0, -2.0, -3.0, -4.0}));
  EXPECT_EQ(report["text_offset"], json({0, 0, 0, 1, 2}));
}

TEST(Logprobs, AnEchoedTokenHasItsAlternatives) {
  test::FakeService service;
  CompletionLogprobs logprobs(service, 1);
  GenerationEvent event;
  event.prompt_logprobs = {-1, -2};
  event.prompt_top = {{{'a', -1}}, {{'x', -0.5f}}};
  logprobs.add_prompt({test::FakeService::kBos, 'a', 'b'}, event, "ab");
  logprobs.add({{'c', -4, {{'d', -3}}}});
  EXPECT_EQ(taken(logprobs)["top_logprobs"],
            json::parse(R"([null, {"a": -1.0}, {"x": -0.5, "b": -2.0}, {"d": -3.0, "c": -4.0}])"));
}

// Its token 200 is "_Once" with the artificial space of SentencePiece.
struct SpacedService final : test::FakeService {
  std::string token_bytes(TokenId id) const override {
    return id == 200 ? " Once" : test::FakeService::token_bytes(id);
  }
};

TEST(Logprobs, AnEchoedTokenHasNoSpaceThatTheTextLacks) {
  SpacedService service;
  CompletionLogprobs logprobs(service, 0);
  GenerationEvent event;
  event.prompt_logprobs = {-1, -2};
  logprobs.add_prompt({test::FakeService::kBos, 200, 200}, event, "Once Once");
  const json report = taken(logprobs);
  EXPECT_EQ(report["tokens"], json({"<s>", "Once", " Once"}));
  EXPECT_EQ(report["text_offset"], json({0, 0, 4}));
}

TEST(Logprobs, TokensOfOneNameAreOneKey) {
  test::FakeService service;
  CompletionLogprobs logprobs(service, 3);
  logprobs.add({{'a', -2, {{'b', -1}, {'b', -4}, {'c', -5}}}});
  std::string text;
  logprobs.take(text);
  EXPECT_NE(text.find(R"("top_logprobs":[{"b":-1,"c":-5,"a":-2}])"), std::string::npos) << text;
}

}  // namespace
}  // namespace tandem::server::openai
