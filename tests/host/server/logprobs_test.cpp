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

TEST(Logprobs, ChatListsBytesAndAlternatives) {
  test::FakeService service;
  const float lowest = -std::numeric_limits<float>::infinity();
  const json report = chat_logprobs({{'A', -0.5f, {{'A', -0.5f}, {0xF0, lowest}}}}, service);
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
  EXPECT_EQ(json(logprobs.take()),
            json::parse(R"({"tokens": ["x", "bytes:\\xc3", "bytes:\\xa9", "z"],
      "token_logprobs": [-1.0, -1.0, -1.0, -1.0],
      "top_logprobs": [{"x": -1.0}, {"y": -2.0, "bytes:\\xc3": -1.0}, {"bytes:\\xa9": -1.0}, {"z": -1.0}],
      "text_offset": [0, 1, 2, 2]})"));
  logprobs.add({{'!', -1, {}}});
  EXPECT_EQ(json(logprobs.take())["text_offset"], json({3}));
}

TEST(Logprobs, CompletionsWithoutAlternativesReportNone) {
  test::FakeService service;
  CompletionLogprobs logprobs(service, 0);
  logprobs.add({{'x', -1, {}}});
  EXPECT_EQ(json(logprobs.take())["top_logprobs"], json(nullptr));
}

TEST(Logprobs, EchoedPromptAlignsWithItsText) {
  test::FakeService service;
  CompletionLogprobs logprobs(service, 0);
  logprobs.add_prompt({test::FakeService::kBos, ' ', 'a', 'b'}, {-1, -2, -3}, "ab");
  logprobs.add({{'c', -4, {}}});
  const json report = logprobs.take();
  EXPECT_EQ(report["tokens"], json({"<s>", " ", "a", "b", "c"}));
  EXPECT_EQ(report["token_logprobs"], json({nullptr, -1.0, -2.0, -3.0, -4.0}));
  EXPECT_EQ(report["text_offset"], json({0, 0, 0, 1, 2}));
}

}  // namespace
}  // namespace tandem::server::openai
