// SPDX-License-Identifier: Apache-2.0
//
// The engine against golden values of real models: greedy tokens (for quantised files while the
// best two logits are further apart than engines differ), the log-probability of every token of the
// reference, whatever the engine itself would have chosen, and perplexity.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "host/engine/engine_rig.h"
#include "host/model/shared_models.h"

namespace tandem::engine {
namespace {

using nlohmann::json;

json golden(const std::string& name) {
  return json::parse(test::read_text(test::shared_models() / "golden.json"))["models"][name];
}

class GoldenEngine : public testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path path() const {
    return test::shared_models() / (std::string(GetParam()) + ".gguf");
  }
  bool quantised() const { return std::string(GetParam()).find("_0") != std::string::npos; }
};

TEST_P(GoldenEngine, GeneratesTheGreedyTokensOfTheReference) {
  TANDEM_REQUIRE_FILE(path());
  EngineRig rig(path());
  auto engine = rig.engine(rig.cpu_units({64}), {});
  const json model = golden(GetParam());
  ASSERT_EQ(model["prompts"].size(), 3u);
  for (const auto& prompt : model["prompts"]) {
    const auto expected = prompt["out_ids"].get<std::vector<model::TokenId>>();
    const auto gaps = prompt["top1_top2_gap"].get<std::vector<double>>();
    const auto logprobs = prompt["logprob"].get<std::vector<double>>();
    const Answer answer =
        run_all(*engine, {greedy(prompt["prompt_ids"].get<std::vector<model::TokenId>>(),
                                 static_cast<int>(expected.size()))})
            .front();
    ASSERT_EQ(answer.tokens.size(), expected.size());
    if (!quantised()) {
      EXPECT_EQ(answer.tokens, expected);
      EXPECT_EQ(answer.text, prompt["text"].get<std::string>());
    }
    // Quantised: engines agree while the best two logits are further apart than they differ.
    const double tolerance = quantised() ? 0.35 : 0.02;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (quantised() && gaps[i] <= 2 * tolerance && answer.tokens[i] != expected[i]) break;
      ASSERT_EQ(answer.tokens[i], expected[i]) << "token " << i << ", gap " << gaps[i];
      EXPECT_NEAR(answer.logprobs[i], logprobs[i], tolerance) << "token " << i;
    }
  }
}

TEST_P(GoldenEngine, ScoresEveryTokenOfTheReferenceAsItDoes) {
  TANDEM_REQUIRE_FILE(path());
  EngineRig rig(path());
  auto engine = rig.engine(rig.cpu_units({64}), {});
  const json model = golden(GetParam());
  ASSERT_EQ(model["prompts"].size(), 3u);
  for (const auto& prompt : model["prompts"]) {
    const auto expected = prompt["logprob"].get<std::vector<float>>();
    const auto output = prompt["out_ids"].get<std::vector<model::TokenId>>();
    auto ids = prompt["prompt_ids"].get<std::vector<model::TokenId>>();
    const std::size_t num_prompt = ids.size();
    ids.insert(ids.end(), output.begin(), output.end());
    Request request = greedy(ids, 0);
    request.prompt_logprobs = true;
    const Answer answer = run_all(*engine, {request}).front();
    ASSERT_EQ(answer.prompt_logprobs.size(), ids.size() - 1);
    ASSERT_EQ(expected.size(), 64u);
    EXPECT_THAT(std::span(answer.prompt_logprobs).subspan(num_prompt - 1),
                testing::Pointwise(testing::FloatNear(quantised() ? 0.35f : 0.02f), expected));
  }
}

TEST_P(GoldenEngine, HasThePerplexityOfTheReference) {
  TANDEM_REQUIRE_FILE(path());
  EngineRig rig(path());
  auto engine = rig.engine(rig.cpu_units({64}), {});
  const json model = golden(GetParam());
  const json& entry = model["ppl"];
  Request request = greedy(entry["ids"].get<std::vector<model::TokenId>>(), 0);
  request.prompt_logprobs = true;
  const std::size_t num_prompt = request.prompt.size();
  const Answer answer = run_all(*engine, {request}).front();
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  EXPECT_TRUE(answer.tokens.empty());
  ASSERT_EQ(answer.prompt_logprobs.size(), num_prompt - 1);
  const double mean =
      std::accumulate(answer.prompt_logprobs.begin(), answer.prompt_logprobs.end(), 0.0) /
      static_cast<double>(num_prompt - 1);
  const double expected = model["ref64"]["ppl"].get<double>();
  EXPECT_NEAR(std::exp(-mean) / expected, 1.0, quantised() ? 0.005 : 0.0005);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenEngine,
                         testing::Values("stories260K-f32", "stories260K-f16",
                                         "stories260K-pad192-q8_0", "stories260K-pad192-q4_0"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace tandem::engine
