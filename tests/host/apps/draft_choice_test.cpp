// SPDX-License-Identifier: Apache-2.0
//
// Which models may draft for which: those whose tokens are the same.
#include "apps/draft_choice.h"

#include <gmock/gmock.h>

#include "common/error.h"
#include "support/model_double.h"

namespace tandem::apps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Its letters begin with another one.
class ShiftedTokenizer final : public model::Tokenizer {
 public:
  std::vector<model::TokenId> encode(std::string_view, const model::EncodeOptions&) const override {
    return {};
  }
  std::string mark_control(std::string_view text, std::string_view) const override {
    return std::string(text);
  }
  std::string_view token_bytes(model::TokenId id) const override {
    return id < 3 ? letters_.token_bytes(id) : letters_.token_bytes(id + 1);
  }
  int vocab_size() const override { return 20; }
  model::TokenId bos() const override { return model::kNoToken; }
  model::TokenId eos() const override { return model::kNoToken; }
  bool is_control(model::TokenId) const override { return false; }
  bool is_end_of_generation(model::TokenId) const override { return false; }
  bool strips_leading_space() const override { return false; }

 private:
  const test::LetterTokenizer letters_{26};
};

std::string refusal(const model::Tokenizer& draft, const model::Tokenizer& served) {
  try {
    require_same_tokens(draft, served, "small.gguf");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(DraftChoice, TheSameTokensOrTheFirstOfThemWillDo) {
  EXPECT_EQ(refusal(test::LetterTokenizer(26), test::LetterTokenizer(26)), "");
  EXPECT_EQ(refusal(test::LetterTokenizer(20), test::LetterTokenizer(26)), "");
}

TEST(DraftChoice, MoreTokensThanTheServedModelHasAreRefused) {
  EXPECT_THAT(refusal(test::LetterTokenizer(26), test::LetterTokenizer(20)),
              AllOf(HasSubstr("--draft small.gguf"), HasSubstr("26 tokens, the model 20")));
}

TEST(DraftChoice, TheFirstTokenThatDiffersIsNamed) {
  EXPECT_THAT(refusal(ShiftedTokenizer(), test::LetterTokenizer(26)),
              HasSubstr("token 3 is 'e', in the model 'd'"));
}

TEST(DraftChoice, AFileThatCannotBeReadIsNamedWithItsOption) {
  RuntimeOptions options;
  options.draft = "/nonexistent.gguf";
  try {
    const DraftChoice choice(options);
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("--draft"), HasSubstr("/nonexistent.gguf")));
  }
}

TEST(DraftChoice, LookupIsNoFile) {
  EXPECT_FALSE(names_draft_model(""));
  EXPECT_FALSE(names_draft_model("lookup"));
  EXPECT_TRUE(names_draft_model("lookup.gguf"));
}

}  // namespace
}  // namespace tandem::apps
