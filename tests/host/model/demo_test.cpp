// SPDX-License-Identifier: Apache-2.0
//
// The demonstration model: configuration, tokenizer and chat template, against the golden values of
// an independent program.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "host/model/shared_models.h"
#include "model/model.h"
#include "support/tree.h"

namespace tandem::model {
namespace {

const std::filesystem::path kFolder = test::source_dir() / "host" / "model" / "demo";

class DemoModel : public testing::Test {
 protected:
  std::unique_ptr<Model> model_ = load_model(kFolder / "tandem-stories-q8_0.gguf");
  nlohmann::json golden_ = nlohmann::json::parse(test::read_text(kFolder / "golden.json"));
};

TEST_F(DemoModel, HasTheStatedShape) {
  const ModelConfig& config = model_->config();
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.quantization, "q8_0");
  EXPECT_EQ(config.q_heads % config.kv_heads, 0);
  EXPECT_EQ(config.head_dim % 32, 0);
  EXPECT_GE(config.parameters, 1'000'000u);
  EXPECT_LE(config.parameters, 4'000'000u);
  EXPECT_LE(std::filesystem::file_size(kFolder / "tandem-stories-q8_0.gguf"), 6u << 20);
  EXPECT_EQ(model_->chat_template_error(), "");
}

TEST_F(DemoModel, EncodesAndDecodesAsGolden) {
  const Tokenizer& tokenizer = model_->tokenizer();
  for (const auto& prompt : golden_["prompts"]) {
    const EncodeOptions options{.add_special = prompt["add_bos"], .parse_special = true};
    EXPECT_EQ(tokenizer.encode(prompt["prompt"].get<std::string>(), options),
              prompt["prompt_ids"].get<std::vector<TokenId>>());
    Detokenizer detokenizer(tokenizer, false);
    std::string text;
    for (const auto& id : prompt["out_ids"]) text += detokenizer.push(id);
    EXPECT_EQ(text + detokenizer.finish(), prompt["out_text"].get<std::string>());
  }
  const auto& perplexity = golden_["perplexity"];
  EXPECT_EQ(tokenizer.encode(perplexity["text"].get<std::string>(), {}),
            perplexity["ids"].get<std::vector<TokenId>>());
}

TEST_F(DemoModel, RendersItsChatTemplateAsGolden) {
  ASSERT_NE(model_->chat_template(), nullptr);
  const auto& chat = golden_["chat"];
  std::vector<ChatMessage> messages;
  for (const auto& message : chat["messages"]) {
    messages.push_back({message["role"], message["content"]});
  }
  const std::string text = model_->chat_template()->render(messages, {});
  EXPECT_EQ(text, chat["rendered"].get<std::string>());
  const auto ids = model_->tokenizer().encode(text, {.add_special = false, .parse_special = true});
  const auto count = [&](const char* marker) {
    const auto marker_ids =
        model_->tokenizer().encode(marker, {.add_special = false, .parse_special = true});
    EXPECT_EQ(marker_ids.size(), 1u);
    EXPECT_TRUE(model_->tokenizer().is_control(marker_ids[0]));
    return std::count(ids.begin(), ids.end(), marker_ids[0]);
  };
  EXPECT_EQ(ids.front(), model_->tokenizer().bos());
  EXPECT_EQ(count("<|user|>"), 1);
  EXPECT_EQ(count("<|assistant|>"), 1);
}

}  // namespace
}  // namespace tandem::model
