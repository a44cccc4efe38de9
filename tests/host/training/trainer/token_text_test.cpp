// SPDX-License-Identifier: Apache-2.0
//
// Texts as tokens, and windows of them as rows.
#include "training/trainer/token_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "common/error.h"
#include "model/loader/gguf/gguf_file.h"
#include "model/loader/gguf/gguf_writer.h"
#include "model/tokenizer/read_tokenizer.h"
#include "support/scratch_path.h"
#include "training/trainer/byte_vocabulary.h"

namespace tandem::training {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<model::Tokenizer> byte_tokenizer() {
  model::GgufWriter writer;
  set_byte_vocabulary(writer);
  const std::string bytes = writer.bytes();
  return model::read_tokenizer(
      model::GgufFile(std::as_bytes(std::span(bytes)), "the byte vocabulary"));
}

class TokenTextTest : public testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view bytes) {
    const std::string path = folder_.string() + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  test::ScratchPath folder_{"token_text"};
  std::unique_ptr<model::Tokenizer> tokenizer_ = byte_tokenizer();
};

TEST_F(TokenTextTest, AByteIsATokenAndSoIsABlank) {
  const TokenText text(write("text", "a b\n\xC3\xA9"), *tokenizer_);
  ASSERT_EQ(text.size(), 6u);
  EXPECT_EQ(text[0], 3 + 'a');
  EXPECT_EQ(text[1], 259);
  EXPECT_EQ(text[2], 3 + 'b');
  EXPECT_EQ(text[3], 3 + '\n');
  EXPECT_EQ(text[4], 3 + 0xC3);
  EXPECT_EQ(text[5], 3 + 0xA9);
  std::vector<model::TokenId> ids;
  for (std::uint64_t at = 0; at < text.size(); ++at) ids.push_back(text[at]);
  EXPECT_EQ(model::decode(*tokenizer_, ids), "a b\n\xC3\xA9");
}

TEST_F(TokenTextTest, ReadsFilesOfIds) {
  using namespace std::string_view_literals;
  const TokenText narrow(write("a.u16", "\x05\x00\x01\x01"sv), *tokenizer_);
  ASSERT_EQ(narrow.size(), 2u);
  EXPECT_EQ(narrow[0], 5);
  EXPECT_EQ(narrow[1], 257);
  const TokenText wide(write("a.u32", "\x05\x00\x00\x00"sv), *tokenizer_);
  ASSERT_EQ(wide.size(), 1u);
  EXPECT_EQ(wide[0], 5);
  try {
    TokenText(write("b.u16", "\x05\x00\x04\x01"sv), *tokenizer_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("token 1 has the id 260; the vocabulary has 260"));
  }
}

TEST_F(TokenTextTest, RefusesWhatIsNoText) {
  try {
    TokenText(write("binary", "abc\xFFz"), *tokenizer_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("is not UTF-8 text: byte 3 begins no character"));
  }
}

TEST_F(TokenTextTest, RefusesWhatIsNoFileAndIdsThatAreCutOff) {
  const auto refusal = [&](const std::string& path) {
    try {
      TokenText(path, *tokenizer_);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal("/nowhere/text"), HasSubstr("cannot read '/nowhere/text': No such file or "
                                                  "directory; name a file of text"));
  EXPECT_THAT(refusal("/tmp"), HasSubstr("cannot read '/tmp': it is a folder; name"));
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("it is not a regular file"));
  EXPECT_THAT(refusal(write("a.u32", "123456")),
              HasSubstr("has 6 bytes, which are no whole ids of 4"));
}

TEST_F(TokenTextTest, AWindowBeginsWithBosAndPredictsEachOfItsTokens) {
  const TokenText text(write("text", "abcdef"), *tokenizer_);
  TokenRows rows(2, 4);
  rows.fill(0, text, 1, 4, 1);
  rows.fill(1, text, 2, 2, 1);
  const TokenBatch batch = rows.view();
  const std::vector<std::int32_t> tokens(batch.tokens, batch.tokens + 8),
      targets(batch.targets, batch.targets + 8);
  const int a = 3 + 'a', none = kNotScored;
  EXPECT_THAT(tokens, ElementsAre(1, a + 1, a + 2, a + 3, 1, a + 2, 0, 0));
  EXPECT_THAT(targets, ElementsAre(a + 1, a + 2, a + 3, a + 4, a + 2, a + 3, none, none));
  EXPECT_EQ(rows.num_scored(), 6u);
}

TEST_F(TokenTextTest, WithoutBosAWindowPredictsFromItsSecondToken) {
  const TokenText text(write("text", "abcdef"), *tokenizer_);
  TokenRows rows(1, 3);
  rows.fill(0, text, 1, 4, model::kNoToken);
  const TokenBatch batch = rows.view();
  const int a = 3 + 'a';
  EXPECT_THAT(std::vector<std::int32_t>(batch.tokens, batch.tokens + 3),
              ElementsAre(a + 1, a + 2, a + 3));
  EXPECT_THAT(std::vector<std::int32_t>(batch.targets, batch.targets + 3),
              ElementsAre(a + 2, a + 3, a + 4));
}

}  // namespace
}  // namespace tandem::training
