// SPDX-License-Identifier: Apache-2.0
//
// Real model files: configuration, prompts and texts against golden values.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "host/model/shared_models.h"
#include "model/model.h"

namespace tandem::model {
namespace {

class GoldenModel : public testing::TestWithParam<const char*> {};

TEST_P(GoldenModel, HasTheConfigurationOfItsFile) {
  const auto path = test::shared_models() / (std::string(GetParam()) + ".gguf");
  TANDEM_REQUIRE_FILE(path);
  const bool padded = path.string().find("pad192") != std::string::npos;
  std::vector<double> heard;
  const auto model = load_model(path, [&](double fraction) { heard.push_back(fraction); });
  const ModelConfig& config = model->config();
  EXPECT_EQ(config.name, padded ? "stories260K-pad192" : "stories260K");
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.num_layers, 5);
  EXPECT_EQ(config.width, 64);
  EXPECT_EQ(config.q_heads, 8);
  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.ffn_width, padded ? 192 : 172);
  EXPECT_EQ(config.vocab_size, 512);
  EXPECT_EQ(config.context_length, 512);
  EXPECT_FLOAT_EQ(config.norm_epsilon, 1e-5f);
  EXPECT_FLOAT_EQ(config.attention_scale, 0.35355339f);
  EXPECT_THAT(config.rope.inverse_frequencies, testing::ElementsAre(1.0f, 0.1f, 0.01f, 0.001f));
  EXPECT_EQ(config.rope.magnitude, 1.0f);
  const std::string name = GetParam();
  EXPECT_EQ(config.quantization, name.substr(name.rfind('-') + 1));
  EXPECT_EQ(model->layers().size(), 5u);
  EXPECT_EQ(model->output().data, model->embedding().data);
  EXPECT_EQ(model->chat_template(), nullptr);
  EXPECT_EQ(model->chat_template_error(), "");
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard.back(), 1.0);
}

TEST_P(GoldenModel, EncodesPromptsAndDecodesOutputsAsGolden) {
  const auto path = test::shared_models() / (std::string(GetParam()) + ".gguf");
  TANDEM_REQUIRE_FILE(path);
  const auto golden =
      nlohmann::json::parse(test::read_text(test::shared_models() / "golden.json"))["models"];
  const auto model = load_model(path);
  const Tokenizer& tokenizer = model->tokenizer();
  const auto& entry = golden[GetParam()];
  ASSERT_GE(entry["prompts"].size(), 1u);
  for (const auto& prompt : entry["prompts"]) {
    EXPECT_EQ(tokenizer.encode(prompt["prompt"].get<std::string>(), {}),
              prompt["prompt_ids"].get<std::vector<TokenId>>());
    Detokenizer detokenizer(tokenizer, false);
    std::string text;
    for (const auto& id : prompt["out_ids"]) text += detokenizer.push(id);
    EXPECT_EQ(text + detokenizer.finish(), prompt["text"].get<std::string>());
  }
  const std::string text = test::read_text(test::shared_models() / "ppl.txt");
  auto ids = tokenizer.encode(text, {});
  const auto expected = entry["ppl"]["ids"].get<std::vector<TokenId>>();
  ASSERT_GE(ids.size(), expected.size());
  ids.resize(expected.size());
  EXPECT_EQ(ids, expected);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenModel,
                         testing::Values("stories260K-f32", "stories260K-f16",
                                         "stories260K-pad192-q8_0", "stories260K-pad192-q4_0"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace tandem::model
