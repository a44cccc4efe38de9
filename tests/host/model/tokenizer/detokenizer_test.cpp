// SPDX-License-Identifier: Apache-2.0
//
// Incremental decoding on a tokenizer whose tokens are given.
#include <gtest/gtest.h>

#include <random>

#include "common/utf8.h"
#include "model/tokenizer/tokenizer.h"

namespace tandem::model {
namespace {

class GivenTokens : public Tokenizer {
 public:
  GivenTokens(std::vector<std::string> bytes, bool strips)
      : bytes_(std::move(bytes)), strips_(strips) {}
  std::vector<TokenId> encode(std::string_view, const EncodeOptions&) const override { return {}; }
  std::string mark_control(std::string_view text, std::string_view) const override {
    return std::string(text);
  }
  std::string_view token_bytes(TokenId id) const override {
    return bytes_[static_cast<std::size_t>(id)];
  }
  int vocab_size() const override { return static_cast<int>(bytes_.size()); }
  TokenId bos() const override { return 0; }
  TokenId eos() const override { return kNoToken; }
  bool is_control(TokenId id) const override { return id == 0; }
  bool is_end_of_generation(TokenId) const override { return false; }
  bool strips_leading_space() const override { return strips_; }

 private:
  std::vector<std::string> bytes_;
  bool strips_;
};

constexpr const char* kReplacement = "\xef\xbf\xbd";

TEST(Detokenizer, HoldsBackUntilASequenceIsWhole) {
  const GivenTokens tokens({"<s>", "a\xf0\x9f", "\x92", "\xa9!"}, false);
  Detokenizer detokenizer(tokens, true);
  EXPECT_EQ(detokenizer.push(1), "a");
  EXPECT_EQ(detokenizer.push(2), "");
  EXPECT_EQ(detokenizer.push(0), "");
  EXPECT_EQ(detokenizer.push(3), "\xf0\x9f\x92\xa9!");
  EXPECT_EQ(detokenizer.finish(), "");
}

TEST(Detokenizer, ReplacesBytesThatCannotBecomeASequence) {
  const GivenTokens tokens({"<s>", "\xf0\x9f", "x", "\xff", "\xc3"}, false);
  Detokenizer detokenizer(tokens, true);
  EXPECT_EQ(detokenizer.push(1), "");
  EXPECT_EQ(detokenizer.push(2), std::string(kReplacement) + "x");
  EXPECT_EQ(detokenizer.push(3), kReplacement);
  EXPECT_EQ(detokenizer.push(4), "");
  EXPECT_EQ(detokenizer.finish(), kReplacement);
  EXPECT_EQ(detokenizer.finish(), "");
}

TEST(Detokenizer, DropsOneArtificialSpaceAtTheStartOnly) {
  const GivenTokens tokens({"<s>", " a", " "}, true);
  EXPECT_EQ(decode(tokens, {0, 1, 1}), "a a");
  EXPECT_EQ(decode(tokens, {2, 1}), " a");
  Detokenizer continuing(tokens, false);
  EXPECT_EQ(continuing.push(1), " a");
  const GivenTokens plain({"<s>", " a"}, false);
  EXPECT_EQ(decode(plain, {0, 1}), " a");
}

TEST(Detokenizer, IgnoresIdsOutsideTheVocabulary) {
  const GivenTokens tokens({"<s>", "a"}, false);
  EXPECT_EQ(decode(tokens, {-1, 1, 2, 1000000}), "a");
}

TEST(Detokenizer, AnyCutOfAnyBytesGivesTheSameValidText) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    for (std::size_t size = random() % 20; bytes.size() < size;) {
      const char* parts[] = {"a",    "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                             "\xff", "\xe2\x82"};
      bytes += parts[random() % 6];
    }
    std::string expected;
    for (int cut = 0; cut < 3; ++cut) {
      std::vector<std::string> tokens = {"<s>"};
      for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t size = cut == 0 ? bytes.size() : 1 + random() % 3;
        tokens.push_back(bytes.substr(at, size));
        at += size;
      }
      std::vector<TokenId> ids(tokens.size());
      for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<TokenId>(i);
      const std::string text = decode(GivenTokens(tokens, false), ids);
      if (cut == 0) expected = text;
      ASSERT_EQ(text, expected);
    }
    for (std::size_t at = 0; at < expected.size();) {
      const Utf8Sequence sequence = next_utf8(std::string_view(expected).substr(at));
      ASSERT_TRUE(sequence.valid);
      at += sequence.length;
    }
  }
}

}  // namespace
}  // namespace tandem::model
