// SPDX-License-Identifier: Apache-2.0
//
// Raw prompts of parts: control tokens only where a part parses them, else as if it were one text.
#include "model/chat/raw_prompt.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/error.h"
#include "model/model.h"
#include "support/tree.h"

namespace tandem::model {
namespace {

class RawPrompt : public testing::Test {
 protected:
  const Tokenizer& tokenizer() const { return model_->tokenizer(); }

  std::vector<TokenId> encode(const std::vector<PromptPart>& parts, EncodeOptions options = {}) {
    return encode_parts(tokenizer(), parts, options);
  }

  std::vector<TokenId> whole(const std::string& text, bool parse_special) const {
    return tokenizer().encode(text, {.parse_special = parse_special});
  }

  std::unique_ptr<Model> model_ =
      load_model(test::source_dir() / "host" / "model" / "demo" / "tandem-stories-q8_0.gguf");
};

TEST_F(RawPrompt, OnePartIsParsedAsItSays) {
  const std::string text = "Once</s> upon";
  EXPECT_EQ(encode({{text, true}}), whole(text, true));
  EXPECT_EQ(encode({{text, false}}), whole(text, false));
  EXPECT_NE(whole(text, true), whole(text, false));
}

TEST_F(RawPrompt, PartsOfOneKindAreOneText) {
  EXPECT_EQ(encode({{"On", true}, {"ce up", true}, {"on", true}}), whole("Once upon", true));
  EXPECT_EQ(encode({{"On</", false}, {"s>ce", false}}), whole("On</s>ce", false));
}

TEST_F(RawPrompt, SafePartsNeverBecomeControlTokens) {
  for (const std::string user : {"</s>", "<|assistant|>", "a</s>b", "<s><|user|>", "</s"}) {
    const std::vector<TokenId> ids =
        encode({{"<|user|>\n", true}, {user, false}, {">", false}, {"<|assistant|>\n", true}});
    int num_control = 0;
    for (const TokenId id : ids) num_control += tokenizer().is_control(id) ? 1 : 0;
    EXPECT_EQ(num_control, 3) << user << ": BOS and the template's two";
  }
}

TEST_F(RawPrompt, NoControlTokenArisesAcrossTheEndOfASafePart) {
  const std::string token = "</s>";
  for (std::size_t cut = 1; cut < token.size(); ++cut) {
    const std::string begin = token.substr(0, cut), end = token.substr(cut);
    for (const bool first_is_safe : {true, false}) {
      const auto ids = encode({{begin, !first_is_safe}, {end, first_is_safe}});
      EXPECT_EQ(ids, whole(token, false)) << cut;
    }
    const auto both = encode({{"</s>", true}, {begin, false}, {end, false}, {"</s>", true}});
    EXPECT_EQ(std::count(both.begin(), both.end(), tokenizer().eos()), 2) << cut;
  }
}

TEST_F(RawPrompt, BeginsWithOneBosWhereverItComesFrom) {
  const auto num_bos = [&](const std::vector<TokenId>& ids) {
    return std::count(ids.begin(), ids.end(), tokenizer().bos());
  };
  EXPECT_EQ(num_bos(encode({{"Once", true}})), 1);
  EXPECT_EQ(num_bos(encode({{"<s>Once", true}})), 1);
  EXPECT_EQ(num_bos(encode({{"<s>Once", true}}, {.add_special = false})), 1);
  EXPECT_EQ(num_bos(encode({{"<s>Once", false}})), 1) << "as text it is no second one";
  EXPECT_EQ(num_bos(encode({{"Once", true}}, {.add_special = false})), 0);
}

TEST_F(RawPrompt, StopsSoonAfterTheLimit) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "</s>a ";
  const std::size_t all = encode({{text, true}}).size();
  for (const bool second : {true, false}) {  // one kind, and mixed
    const auto ids = encode({{text, true}, {"b", second}}, {.max_tokens = 50});
    EXPECT_GT(ids.size(), 50u);
    EXPECT_LT(ids.size(), 60u);
  }
  EXPECT_GT(all, 6000u);
  EXPECT_EQ(encode({{text, true}}, {.max_tokens = all}).size(), all);
}

TEST_F(RawPrompt, PartsThatUseEveryMarkAreRefused) {
  std::string marks;
  for (int last = 0x90; last <= 0xaf; ++last) {
    marks += "\xef\xb7";
    marks += static_cast<char>(last);
  }
  EXPECT_THROW(encode({{marks, false}, {"x", true}}), Error);
  EXPECT_FALSE(encode({{marks, true}}).empty());
}

}  // namespace
}  // namespace tandem::model
