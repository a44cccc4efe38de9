// SPDX-License-Identifier: Apache-2.0
//
// Both tokenizers on small vocabularies: hand-worked cases, naive merging, and damaged files.
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <random>
#include <thread>

#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/read_tokenizer.h"
#include "support/gguf_writer.h"

namespace tandem::model {
namespace {

using test::GgufWriter;
using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<Tokenizer> make(const GgufWriter& writer) {
  const std::string bytes = writer.bytes();
  return read_tokenizer(
      GgufFile(std::as_bytes(std::span(bytes.data(), bytes.size())), "test.gguf"));
}

std::string tokenizer_error(const GgufWriter& writer) {
  try {
    make(writer);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

struct Piece {
  std::string text;
  float score = 0;
  std::int32_t kind = 1;
};

constexpr std::int32_t kUnknown = 2, kControl = 3, kUser = 4;

GgufWriter spm(const std::vector<Piece>& pieces) {
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  std::vector<float> scores = {0, 0, 0};
  std::vector<std::int32_t> kinds = {kUnknown, kControl, kControl};
  for (const Piece& piece : pieces) {
    texts.push_back(piece.text);
    scores.push_back(piece.score);
    kinds.push_back(piece.kind);
  }
  GgufWriter writer;
  writer.set_string("tokenizer.ggml.model", "llama");
  writer.set_strings("tokenizer.ggml.tokens", texts);
  writer.set_f32s("tokenizer.ggml.scores", scores);
  writer.set_i32s("tokenizer.ggml.token_type", kinds);
  writer.set_u32("tokenizer.ggml.bos_token_id", 1);
  writer.set_u32("tokenizer.ggml.eos_token_id", 2);
  writer.set_u32("tokenizer.ggml.unknown_token_id", 0);
  return writer;
}

// All bytes as tokens, in order of their value, then `more`.
GgufWriter bpe(const std::vector<std::string>& more, const std::vector<std::string>& merges,
               const char* pre = "gpt-2") {
  std::vector<std::string> texts;
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    const int code = printable ? byte : next++;
    std::string text;
    if (code < 0x80) {
      text = std::string(1, static_cast<char>(code));
    } else {
      text = {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    }
    texts.push_back(text);
  }
  texts.insert(texts.end(), more.begin(), more.end());
  GgufWriter writer;
  writer.set_string("tokenizer.ggml.model", "gpt2");
  writer.set_string("tokenizer.ggml.pre", pre);
  writer.set_strings("tokenizer.ggml.tokens", texts);
  writer.set_strings("tokenizer.ggml.merges", merges);
  return writer;
}

std::vector<TokenId> raw(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(text, {.add_special = false});
}

const std::string kBar = "\xe2\x96\x81";

TEST(SpmTokenizer, MergesTheBestScoreFirst) {
  // ids: a 3, b 4, c 5, ab 6, bc 7, the prefix 8, prefix+a 9
  const auto tokenizer =
      make(spm({{"a"}, {"b"}, {"c"}, {"ab", -2}, {"bc", -1}, {kBar}, {kBar + "a", -3}}));
  EXPECT_THAT(raw(*tokenizer, "abc"), ElementsAre(9, 7));
  EXPECT_THAT(raw(*tokenizer, "bab"), ElementsAre(8, 4, 6));
  EXPECT_THAT(raw(*tokenizer, ""), ElementsAre());
  EXPECT_THAT(tokenizer->encode("c", {}), ElementsAre(1, 8, 5));
}

TEST(SpmTokenizer, FallsBackToBytesThenToUnknown) {
  const auto with_bytes = make(spm({{kBar}, {"<0xC3>", 0, 6}, {"<0xA9>", 0, 6}}));
  EXPECT_THAT(raw(*with_bytes, "\xc3\xa9"), ElementsAre(3, 4, 5));
  EXPECT_THAT(raw(*with_bytes, "x"), ElementsAre(3, 0));
  EXPECT_THAT(raw(*with_bytes, "\xa9"), ElementsAre(3, 5));  // not UTF-8: byte by byte
  EXPECT_EQ(with_bytes->token_bytes(4), "\xc3");
}

TEST(SpmTokenizer, PutsSpaceBeforeTextThatOpensOrFollowsASpecialToken) {
  GgufWriter writer = spm({{kBar}, {"a"}, {"<|user|>", 0, kControl}, {"<tag>", 0, kUser}});
  const auto tokenizer = make(writer);
  EXPECT_TRUE(tokenizer->strips_leading_space());
  const EncodeOptions with_control{.add_special = false, .parse_special = true};
  EXPECT_THAT(tokenizer->encode("<|user|>a", with_control), ElementsAre(5, 3, 4));
  EXPECT_THAT(raw(*tokenizer, "a<tag>a"), ElementsAre(3, 4, 6, 3, 4));
  writer.set_bool("tokenizer.ggml.add_space_prefix", false);
  const auto bare = make(writer);
  EXPECT_THAT(raw(*bare, "a"), ElementsAre(4));
  EXPECT_FALSE(bare->strips_leading_space());
}

TEST(SpmTokenizer, TakesControlTokensFromTextOnlyWhenAsked) {
  const auto tokenizer = make(spm({{kBar}, {"<"}, {"s"}, {">"}, {"<s>x", 0, kControl}, {"x"}}));
  EXPECT_THAT(raw(*tokenizer, "<s>"), ElementsAre(3, 4, 5, 6));
  const EncodeOptions with_control{.add_special = false, .parse_special = true};
  EXPECT_THAT(tokenizer->encode("<s>", with_control), ElementsAre(1));
  EXPECT_THAT(tokenizer->encode("<s>x<s>", with_control), ElementsAre(7, 1));  // longest match
  EXPECT_TRUE(tokenizer->is_control(1));
  EXPECT_FALSE(tokenizer->is_control(4));
  EXPECT_FALSE(tokenizer->is_control(-1));
  EXPECT_FALSE(tokenizer->is_control(99));
  EXPECT_EQ(tokenizer->token_bytes(99), "");
}

TEST(SpmTokenizer, TheFirstOfTwoSpecialTokensOfOneTextIsTheOneMeant) {
  const EncodeOptions with_control{.add_special = false, .parse_special = true};
  const auto control_first =
      make(spm({{kBar}, {"<x>", 0, kControl}, {"<x>", 0, kUser}, {"<"}, {"x"}, {">"}}));
  EXPECT_THAT(control_first->encode("<x>", with_control), ElementsAre(4));
  EXPECT_THAT(raw(*control_first, "<x>"), ElementsAre(3, 6, 7, 8))
      << "the text is a control token's";
  const auto user_first = make(spm({{kBar}, {"<x>", 0, kUser}, {"<x>", 0, kControl}}));
  EXPECT_THAT(user_first->encode("<x>", with_control), ElementsAre(4));
  EXPECT_THAT(raw(*user_first, "<x>"), ElementsAre(4));
}

// The definition, quadratic: merge the best pair, leftmost on a tie, until none is left.
std::vector<std::string> naive_merges(std::vector<std::string> parts,
                                      const std::vector<Piece>& pieces) {
  const auto score_of = [&](const std::string& text) {
    const auto found = std::find_if(pieces.begin(), pieces.end(),
                                    [&](const Piece& piece) { return piece.text == text; });
    return found == pieces.end() ? std::nullopt : std::optional<float>(found->score);
  };
  while (true) {
    std::optional<float> best;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto score = score_of(parts[i] + parts[i + 1]);
      if (score && (!best || *score > *best)) best = score, at = i;
    }
    if (!best) return parts;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(SpmTokenizer, AgreesWithNaiveMergingOnRandomVocabularies) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    std::vector<Piece> pieces = {{"a"}, {"b"}, {"c"}};
    for (int i = 0; i < 25; ++i) {
      std::string text;
      for (std::size_t size = 2 + random() % 4; text.size() < size;) text += "abc"[random() % 3];
      const bool is_new = std::none_of(pieces.begin(), pieces.end(),
                                       [&](const Piece& piece) { return piece.text == text; });
      if (is_new) pieces.push_back({text, -static_cast<float>(random() % 6)});
    }
    GgufWriter writer = spm(pieces);
    writer.set_bool("tokenizer.ggml.add_space_prefix", false);
    const auto tokenizer = make(writer);
    for (int i = 0; i < 20; ++i) {
      std::vector<std::string> parts;
      std::string text;
      for (std::size_t size = random() % 40; parts.size() < size;) {
        parts.emplace_back(1, "abc"[random() % 3]);
        text += parts.back();
      }
      std::vector<std::string> got;
      for (const TokenId id : raw(*tokenizer, text)) got.emplace_back(tokenizer->token_bytes(id));
      ASSERT_EQ(got, naive_merges(parts, pieces)) << text;
    }
  }
}

TEST(SpmTokenizer, EncodesAMegabyteOfOneLetter) {
  std::vector<Piece> pieces = {{"a"}, {kBar}};
  std::string text = "a";
  for (int doubling = 0; doubling < 8; ++doubling) pieces.push_back({text += text, -1.0f});
  const auto tokenizer = make(spm(pieces));
  const auto ids = raw(*tokenizer, std::string(1 << 20, 'a'));
  EXPECT_EQ(ids.size(), 1 + (1u << 20) / 256);
}

TEST(SpmTokenizer, RefusesWrongMetadata) {
  EXPECT_THAT(tokenizer_error(spm({{"<0xZZ>", 0, 6}})), HasSubstr("byte token 3 is not spelt"));
  EXPECT_THAT(tokenizer_error(spm({{"a", std::nanf("")}})),
              HasSubstr("field 'tokenizer.ggml.scores'"));
  EXPECT_THAT(tokenizer_error(spm({{"a", 0, 9}})), HasSubstr("token 3 has the unknown kind 9"));
  GgufWriter out_of_range = spm({});
  out_of_range.set_u32("tokenizer.ggml.eot_token_id", 3);
  EXPECT_THAT(tokenizer_error(out_of_range), HasSubstr("token 3 is outside the vocabulary of 3"));
  GgufWriter no_scores;
  no_scores.set_string("tokenizer.ggml.model", "llama");
  no_scores.set_strings("tokenizer.ggml.tokens", {"a"});
  EXPECT_THAT(tokenizer_error(no_scores), HasSubstr("field 'tokenizer.ggml.scores' at offset"));
  no_scores.set_f32s("tokenizer.ggml.scores", {1, 2});
  EXPECT_THAT(tokenizer_error(no_scores), HasSubstr("2 scores for 1 tokens"));
  GgufWriter other;
  other.set_string("tokenizer.ggml.model", "bert");
  EXPECT_THAT(tokenizer_error(other), HasSubstr("supported: llama, gpt2"));
}

TEST(BpeTokenizer, MergesByRankWithinWords) {
  const auto tokenizer = make(bpe({"ab", "bc", "abc",
                                   "\xc4\xa0"
                                   "a"},
                                  {"b c", "a b", "a bc", "\xc4\xa0 a"}));
  EXPECT_THAT(raw(*tokenizer, "abc"), ElementsAre(258));
  EXPECT_THAT(raw(*tokenizer, "ab"), ElementsAre(256));
  EXPECT_THAT(raw(*tokenizer, "a ab"), ElementsAre('a', ' ', 256));
  EXPECT_THAT(raw(*tokenizer, "a a"), ElementsAre('a', 259));
  EXPECT_EQ(tokenizer->token_bytes(259), " a");
}

// Some vocabularies hold texts that are not in the alphabet of bytes.
TEST(BpeTokenizer, ATokenOutsideTheAlphabetStandsForItsOwnText) {
  const auto tokenizer = make(bpe({"\xe2\x82\xac", "a\xe2\x82\xac", "\xc4\xa0x"}, {}));
  EXPECT_EQ(tokenizer->token_bytes(256), "\xe2\x82\xac");
  EXPECT_EQ(tokenizer->token_bytes(257), "a\xe2\x82\xac");
  EXPECT_EQ(tokenizer->token_bytes(258), " x") << "two bytes that mean a blank";
}

TEST(BpeTokenizer, EncodesAnyBytes) {
  const auto tokenizer = make(bpe({}, {}));
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const auto ids = raw(*tokenizer, all);
  ASSERT_EQ(ids.size(), 256u);
  std::string back;
  for (const TokenId id : ids) back += tokenizer->token_bytes(id);
  EXPECT_EQ(back, all);
}

TEST(BpeTokenizer, TakesWholeWordsWithoutMergingForLlama3Only) {
  const std::vector<std::string> more = {"ab", "abc"};
  EXPECT_THAT(raw(*make(bpe(more, {"a b"}, "llama-bpe")), "abc"), ElementsAre(257));
  EXPECT_THAT(raw(*make(bpe(more, {"a b"}, "qwen2")), "abc"), ElementsAre(256, 'c'));
}

TEST(BpeTokenizer, EncodesAMegabyteOfOneLetterAndOfBlanks) {
  std::vector<std::string> more, merges;
  std::string text = "a";
  for (int doubling = 0; doubling < 8; ++doubling) {
    merges.push_back(text + " " + text);
    more.push_back(text += text);
  }
  for (const char* pre : {"gpt-2", "llama-bpe", "qwen2", "falcon", "deepseek-coder", "smollm"}) {
    const auto tokenizer = make(bpe(more, merges, pre));
    EXPECT_EQ(raw(*tokenizer, std::string(1 << 20, 'a')).size(), (1u << 20) / 256) << pre;
    EXPECT_EQ(raw(*tokenizer, std::string(1 << 20, ' ')).size(), 1u << 20) << pre;
    std::string lines(1 << 18, '\n');
    lines += 'x';
    EXPECT_EQ(raw(*tokenizer, lines).size(), (1u << 18) + 1) << pre;
    EXPECT_EQ(raw(*tokenizer, std::string(1 << 18, '\xff')).size(), 1u << 18) << pre;
  }
}

TEST(BpeTokenizer, RefusesHostileMerges) {
  EXPECT_THAT(tokenizer_error(bpe({"ab"}, {"ab"})), HasSubstr("merge 0 is not two parts"));
  EXPECT_THAT(tokenizer_error(bpe({"ab"}, {"a b", " a"})), HasSubstr("merge 1 is not two parts"));
  EXPECT_THAT(tokenizer_error(bpe({"ab"}, {"a "})), HasSubstr("merge 0 is not two parts"));
  EXPECT_THAT(tokenizer_error(bpe({}, {"a b"})),
              HasSubstr("names a token that is not in the vocabulary"));
  EXPECT_THAT(tokenizer_error(bpe({}, {""})), HasSubstr("field 'tokenizer.ggml.merges' at offset"));
  EXPECT_THAT(tokenizer_error(bpe({}, {}, "nonsense")),
              HasSubstr("pre-tokenizer 'nonsense' is not supported; supported: gpt-2"));
}

TEST(BpeTokenizer, AddsBosByDefaultForLlama3) {
  GgufWriter writer = bpe({}, {}, "llama-bpe");
  writer.set_u32("tokenizer.ggml.bos_token_id", 7);
  EXPECT_THAT(make(writer)->encode("a", {}), ElementsAre(7, 'a'));
  GgufWriter other = bpe({}, {}, "qwen2");
  other.set_u32("tokenizer.ggml.bos_token_id", 7);
  EXPECT_THAT(make(other)->encode("a", {}), ElementsAre('a'));
}

TEST(BpeTokenizer, EncodesFromManyThreadsAtOnce) {
  const auto tokenizer = make(bpe({"ab"}, {"a b"}, "llama-bpe"));
  const auto expected = raw(*tokenizer, "ab 123 ab\n");
  std::vector<std::vector<TokenId>> got(4);
  std::vector<std::thread> threads;
  for (auto& ids : got) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) ids = raw(*tokenizer, "ab 123 ab\n");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(got, testing::Each(expected));
}

TEST(Vocabulary, KnowsTheTokensThatEndGeneration) {
  const auto tokenizer =
      make(spm({{"a"}, {"<|im_end|>"}, {"<|eot_id|>", 0, kControl}, {"<|user|>", 0, kControl}}));
  EXPECT_TRUE(tokenizer->is_end_of_generation(2));
  EXPECT_TRUE(tokenizer->is_end_of_generation(4));
  EXPECT_TRUE(tokenizer->is_control(4));  // though the file calls it ordinary
  EXPECT_TRUE(tokenizer->is_end_of_generation(5));
  EXPECT_FALSE(tokenizer->is_end_of_generation(3));
  EXPECT_FALSE(tokenizer->is_end_of_generation(6));
  EXPECT_FALSE(tokenizer->is_end_of_generation(kNoToken));
}

TEST(PreTokenizer, LosesNoByteOfAnyText) {
  std::mt19937 random(3);
  for (const char* name : {"gpt-2", "llama-bpe", "qwen2", "falcon", "deepseek-coder", "smollm"}) {
    const PreTokenizer pre_tokenizer(name);
    for (int round = 0; round < 300; ++round) {
      std::string text, joined;
      for (std::size_t size = random() % 60; text.size() < size;) {
        text += random() % 3 == 0 ? static_cast<char>(random()) : " \n\ta1'.\xc3\xa9"[random() % 9];
      }
      for (const std::string_view word : pre_tokenizer.split(text)) {
        EXPECT_FALSE(word.empty());
        joined += word;
      }
      ASSERT_EQ(joined, text) << name;
    }
  }
}

}  // namespace
}  // namespace tandem::model
