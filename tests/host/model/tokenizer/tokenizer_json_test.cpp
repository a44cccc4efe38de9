// SPDX-License-Identifier: Apache-2.0
//
// tokenizer.json: ids and texts against those recorded from the tokenizers library for small
// tokenizers of every published style (record_tokenizers.py), roles, and files that are wrong.
#include "model/tokenizer/tokenizer_json.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "host/model/shared_models.h"
#include "model/model.h"
#include "model/tokenizer/normal_form.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "support/safetensors_writer.h"
#include "support/tree.h"

namespace tandem::model {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path kFolder = test::source_dir() / "tests/host/model/tokenizer/published";

class RecordedTokenizers : public testing::TestWithParam<const char*> {};

TEST_P(RecordedTokenizers, GiveTheLibrarysIdsAndTexts) {
  const std::string style = GetParam();
  if (style == "qwen2" && !can_compose()) GTEST_SKIP() << "this build has no utf8proc";
  const json recorded = json::parse(test::read_text(kFolder / "tokenizer_cases.json"));
  const json& cases = recorded["styles"][style]["cases"];
  const auto front = recorded["styles"][style]["front"].get<std::size_t>();
  const auto tokenizer = load_tokenizer((kFolder / style).string());
  ASSERT_EQ(cases.size(), recorded["texts"].size());
  ASSERT_GE(cases.size(), 40u);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto text = recorded["texts"][i].get<std::string>();
    const auto expected = cases[i][0].get<std::vector<TokenId>>();
    EXPECT_EQ(tokenizer->encode(text, {.parse_special = true}), expected) << i << ": " << text;
    EXPECT_EQ(tokenizer->encode(text, {.add_special = false, .parse_special = true}),
              std::vector<TokenId>(expected.begin() + static_cast<std::ptrdiff_t>(front),
                                   expected.end()));
    EXPECT_EQ(decode(*tokenizer, expected), cases[i][1].get<std::string>()) << i << ": " << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Styles, RecordedTokenizers,
                         testing::Values("gpt2", "llama3", "qwen2", "digits", "llama2", "mistral",
                                         "metaspace", "gemma", "phi3"),
                         [](const auto& info) { return std::string(info.param); });

// A recorded file, to be changed.
json recorded(const char* style) {
  return json::parse(test::read_text(kFolder / style / "tokenizer.json"));
}

std::unique_ptr<Tokenizer> make(const json& tokenizer, int vocab_size = 0, HubTexts texts = {}) {
  texts.directory = "dir";
  texts.tokenizer = tokenizer.dump();
  return read_tokenizer_json(texts, vocab_size);
}

std::string tokenizer_json_error(const json& tokenizer, int vocab_size = 0) {
  try {
    make(tokenizer, vocab_size);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// The error of a recorded file whose value at the JSON pointer `at` is another.
std::string tokenizer_error_with(const char* style, const char* at, const json& value) {
  json changed = recorded(style);
  changed[json::json_pointer(at)] = value;
  return tokenizer_json_error(changed);
}

TEST(TokenizerJson, EncodesBytesThatAreNotUtf8) {
  for (const char* style : {"gpt2", "llama3", "llama2", "gemma"}) {
    const auto tokenizer = make(recorded(style));
    const std::string text = "a\xff\xc3 \xe2\x96 z";
    std::string bytes;
    for (const TokenId id : tokenizer->encode(text, {.add_special = false})) {
      bytes += tokenizer->token_bytes(id);
    }
    EXPECT_THAT(bytes, testing::EndsWith(text)) << style;
  }
}

TEST(TokenizerJson, OnlyNeighbouringUnknownCharactersAreOneToken) {
  json without_bytes = recorded("llama2");
  without_bytes["model"]["byte_fallback"] = false;
  const auto tokenizer = make(without_bytes);
  const TokenId a = without_bytes["model"]["vocab"]["a"], space = 327, unknown = 0;
  const auto ids = [&](const char* text) {
    return tokenizer->encode(text, {.add_special = false});
  };
  EXPECT_THAT(ids("\u4e2d\u6587"), ElementsAre(space, unknown));
  EXPECT_THAT(ids("\u4e2da\u4e2d"), ElementsAre(space, unknown, a, unknown));
  EXPECT_THAT(ids("\u4e2d\u6587a\u4e2d\u6587"), ElementsAre(space, unknown, a, unknown));
}

TEST(TokenizerJson, TakesRolesFromTheFilesBesideIt) {
  HubTexts texts;
  texts.tokenizer_config = R"({"bos_token":"<s>","eos_token":{"content":"</s>"},
                               "add_bos_token":false,"add_eos_token":true})";
  texts.generation_config = R"({"eos_token_id":[7,8,99999]})";
  texts.config = R"({"eos_token_id":9,"text_config":{"eos_token_id":[10]}})";
  const auto tokenizer = make(recorded("llama2"), 0, texts);
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_EQ(tokenizer->eos(), 2);
  for (const TokenId end : {2, 7, 8, 9, 10}) EXPECT_TRUE(tokenizer->is_end_of_generation(end));
  EXPECT_FALSE(tokenizer->is_end_of_generation(11));
  const auto ids = tokenizer->encode("a", {});
  EXPECT_NE(ids.front(), 1);
  EXPECT_EQ(ids.back(), 2);
  HubTexts only_config;
  only_config.config = R"({"bos_token_id":1,"eos_token_id":[2,5]})";
  const auto other = make(recorded("gpt2"), 0, only_config);
  EXPECT_EQ(other->bos(), 1);
  EXPECT_EQ(other->eos(), 2);
  EXPECT_TRUE(other->is_end_of_generation(5));
}

TEST(TokenizerJson, FitsTheRowsOfTheEmbedding) {
  const auto natural = make(recorded("llama2"));
  const int size = natural->vocab_size();
  const auto padded = make(recorded("llama2"), size + 10);
  EXPECT_EQ(padded->vocab_size(), size + 10);
  EXPECT_EQ(padded->encode("[PAD600]", {}), natural->encode("[PAD600]", {}));
  // Three added tokens stand behind the others; without rows they cannot be meant.
  const auto cut = make(recorded("llama2"), size - 3);
  EXPECT_EQ(cut->vocab_size(), size - 3);
  for (const TokenId id : cut->encode("<|user|>", {.parse_special = true})) EXPECT_LT(id, size - 3);
  EXPECT_THAT(tokenizer_json_error(recorded("llama2"), size - 4),
              HasSubstr("has no row in the embedding"));
}

TEST(TokenizerJson, ReadsMergesAsPairsOrTexts) {
  json texts = recorded("gpt2");
  for (json& merge : texts["model"]["merges"]) {
    if (merge.is_array()) merge = merge[0].get<std::string>() + ' ' + merge[1].get<std::string>();
  }
  const std::string text = "Once upon a time";
  EXPECT_EQ(make(texts)->encode(text, {}), make(recorded("gpt2"))->encode(text, {}));
}

TEST(TokenizerJson, NamesTheFieldItDoesNotKnow) {
  EXPECT_EQ(tokenizer_error_with("gpt2", "/model/type", "Unigram"),
            "[safetensors] dir/tokenizer.json: field 'model.type': \"Unigram\" is not supported; "
            "supported: BPE");
  EXPECT_THAT(tokenizer_error_with("llama2", "/normalizer/normalizers/0/type", "Lowercase"),
              HasSubstr("field 'normalizer.normalizers[0].type': \"Lowercase\" is not supported"));
  EXPECT_THAT(tokenizer_error_with("llama3", "/pre_tokenizer/pretokenizers/0/type", "Whitespace"),
              HasSubstr("field 'pre_tokenizer.pretokenizers[0].type'"));
  EXPECT_THAT(tokenizer_error_with("llama3", "/pre_tokenizer/pretokenizers/0/behavior", "Odd"),
              HasSubstr("field 'pre_tokenizer.pretokenizers[0].behavior': \"Odd\""));
  EXPECT_THAT(tokenizer_error_with("llama3", "/pre_tokenizer/pretokenizers/0/pattern/Regex", "(a"),
              HasSubstr("field 'pre_tokenizer.pretokenizers[0].pattern'"));
  EXPECT_THAT(
      tokenizer_error_with("llama3", "/pre_tokenizer/pretokenizers/0/pattern/Regex", "[a[b]]"),
      HasSubstr("classes within a character class"));
  EXPECT_THAT(tokenizer_error_with("llama3", "/decoder/type", "WordPiece"),
              HasSubstr("'decoder.type'"));
  EXPECT_THAT(tokenizer_error_with("llama2", "/post_processor/type", "BertProcessing"),
              HasSubstr("field 'post_processor.type'"));
  EXPECT_THAT(tokenizer_error_with("llama2", "/post_processor/single/0/SpecialToken/id", "<none>"),
              HasSubstr("'<none>' must be one token, the BOS"));
  EXPECT_THAT(tokenizer_error_with("gpt2", "/model/end_of_word_suffix", "</w>"),
              HasSubstr("field 'model.end_of_word_suffix'"));
  EXPECT_THAT(tokenizer_error_with("gpt2", "/model/dropout", 0.1),
              HasSubstr("field 'model.dropout'"));
  EXPECT_THAT(tokenizer_error_with("gpt2", "/added_tokens/0/single_word", true),
              HasSubstr("field 'added_tokens[0].single_word'"));
  EXPECT_THAT(tokenizer_error_with("gpt2", "/pre_tokenizer", nullptr),
              HasSubstr("field 'pre_tokenizer'"));
}

TEST(TokenizerJson, RefusesVocabulariesAndMergesThatAreWrong) {
  EXPECT_THAT(tokenizer_error_with("gpt2", "/model/merges/3", "a b c"),
              HasSubstr("field 'model.merges[3]': must be two parts"));
  EXPECT_THAT(tokenizer_error_with("gpt2", "/model/merges/3", json::array({"zz", "qq"})),
              HasSubstr("field 'model.merges[3]': names a token that is not in the vocabulary"));
  EXPECT_THAT(tokenizer_error_with("gpt2", "/model/vocab/a", -1),
              HasSubstr("model.vocab['a']': -1 is no"));
  EXPECT_THAT(tokenizer_error_with("gpt2", "/model/vocab/a", 66000000),
              HasSubstr("is far above the number"));
  EXPECT_THAT(tokenizer_error_with("gpt2", "/model/vocab/a", 3),
              HasSubstr("two tokens have the number 3"));
  EXPECT_THAT(tokenizer_error_with("gpt2", "/model/vocab", json::object()),
              HasSubstr("'model.vocab'"));
  EXPECT_THAT(tokenizer_error_with("gpt2", "/added_tokens/0/id", 60000000),
              HasSubstr("added_tokens[0].id"));
  EXPECT_THAT(tokenizer_error_with("gpt2", "/added_tokens", 3), HasSubstr("must be an array"));
  EXPECT_THAT(tokenizer_error_with("llama2", "/model/unk_token", "?none"),
              HasSubstr("model.unk_token"));
  EXPECT_THAT(tokenizer_json_error(json::array()), HasSubstr("field 'model': must be an object"));
}

// An expression that backtracks without end is an error.
TEST(TokenizerJson, BoundsTheMatchingOfAFilesExpressions) {
  json hostile = recorded("llama3");
  hostile[json::json_pointer("/pre_tokenizer/pretokenizers/0/pattern/Regex")] = "(a+)+[!?]";
  const auto tokenizer = make(hostile);
  EXPECT_NO_THROW(tokenizer->encode("aaa! b", {}));
  try {
    tokenizer->encode(std::string(400, 'a'), {});
    FAIL() << "400 letters were cut";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("matching failed"));
  }
}

// Many small matches may not take for ever either.
TEST(TokenizerJson, BoundsTheMatchingOfAWholeText) {
  json hostile = recorded("llama3");
  hostile[json::json_pointer("/pre_tokenizer/pretokenizers/0/pattern/Regex")] = "(a+)+[!?]|b";
  const auto tokenizer = make(hostile);
  const std::string block = std::string(14, 'a') + "b";
  EXPECT_NO_THROW(tokenizer->encode(block, {}));
  std::string text;
  for (int i = 0; i < 500; ++i) text += block;
  EXPECT_THROW(tokenizer->encode(text, {}), Error);
}

TEST(TokenizerJson, ReadsExpressionsAsTheirLibraryDoesOrRefusesThem) {
  const char* at = "/pre_tokenizer/pretokenizers/0/pattern/Regex";
  for (const char* expression :
       {"\\Qa+\\E", "\\w+", "a\\b", "(a)\\1", "(?m)a", "(?x: a)", "a(?i)b|c", "(?<n>a)", "(*UTF)a",
        "\\R", "\\K", "[\\S]", "\\x41", "\\pL"}) {
    EXPECT_THAT(tokenizer_error_with("llama3", at, expression), HasSubstr("not supported"))
        << expression;
  }
  for (const char* expression :
       {"(?i:a)|b", "(?i)a|b", "(?>a)(?!b)(?<!c)", "\\x{41}\\p{Lu}\\[", "[\\h]"}) {
    EXPECT_EQ(tokenizer_error_with("llama3", at, expression), "") << expression;
  }
  const PreTokenizer hexadecimal({{.expression = "\\h+"}});
  EXPECT_THAT(hexadecimal.split("xyz1Fa g"), ElementsAre("xyz", "1Fa", " g"));
  const PreTokenizer other({{.expression = "\\H+"}});
  EXPECT_THAT(other.split("xyz1Fa g"), ElementsAre("xyz", "1Fa", " g"));
}

TEST(TokenizerJson, RefusesWhatItWouldReadOtherwise) {
  EXPECT_THAT(tokenizer_error_with("llama2", "/added_tokens/0/normalized", true),
              HasSubstr("field 'added_tokens[0].normalized'"));
  EXPECT_EQ(tokenizer_error_with("gpt2", "/added_tokens/0/normalized", true),
            "");  // has no normalizer
  EXPECT_THAT(tokenizer_error_with("llama2", "/model/ignore_merges", true),
              HasSubstr("field 'model.ignore_merges'"));
  EXPECT_EQ(tokenizer_error_with("gpt2", "/model/ignore_merges", true), "");
  json unigram = recorded("gpt2");
  unigram["model"] = {{"vocab", json::array({json::array({"<unk>", 0.0})})}, {"unk_id", 0}};
  EXPECT_THAT(tokenizer_json_error(unigram), HasSubstr("field 'model.type': is missing"));
  unigram["model"]["type"] = "Unigram";
  EXPECT_THAT(tokenizer_json_error(unigram),
              HasSubstr("field 'model.type': \"Unigram\" is not supported"));
}

TEST(TokenizerJson, MakesNoRoomForRowsFarBeyondItsTokens) {
  EXPECT_THAT(tokenizer_json_error(recorded("gpt2"), 1 << 26),
              HasSubstr("far fewer than the 67108864 rows"));
}

TEST(TokenizerJson, KeepsTextsWithoutControlTokensFromBecomingThem) {
  const auto tokenizer = make(recorded("phi3"));
  const auto ordinary = tokenizer->encode("<|user|> x", {});
  const auto control = tokenizer->encode("<|user|> x", {.parse_special = true});
  EXPECT_LT(control.size(), ordinary.size());
  const std::string mark = "\x01";
  const std::string marked = tokenizer->mark_control("<|user|>  y", mark);
  EXPECT_EQ(tokenizer->encode(marked, {.parse_special = true, .ignored_mark = mark}),
            tokenizer->encode("<|user|>  y", {}));
}

TEST(HubChatTemplate, IsTheFirstOfTheFilesThatHasOne) {
  HubTexts texts;
  EXPECT_EQ(hub_chat_template(texts), std::nullopt);
  texts.chat_template_json = R"({"chat_template":"old"})";
  EXPECT_EQ(hub_chat_template(texts), "old");
  texts.tokenizer_config =
      R"({"chat_template":[{"name":"tools","template":"t"},{"name":"default","template":"d"}]})";
  EXPECT_EQ(hub_chat_template(texts), "d");
  texts.tokenizer_config = R"({"chat_template":"plain"})";
  EXPECT_EQ(hub_chat_template(texts), "plain");
  texts.chat_template_jinja = "jinja";
  EXPECT_EQ(hub_chat_template(texts), "jinja");
  texts = {};
  texts.tokenizer_config = R"({"chat_template":3})";
  EXPECT_THROW(hub_chat_template(texts), Error);
}

TEST(LoadModel, ReadsADirectory) {
  const test::TemporaryFolder folder;
  const auto tokenizer = recorded("llama2");
  const int size = make(tokenizer)->vocab_size();
  const test::HubModel shape{.vocab_size = size + 5};
  test::write_text(folder.file("config.json"), test::hub_config(shape).dump());
  test::write_text(folder.file("tokenizer.json"), tokenizer.dump());
  test::write_text(folder.file("tokenizer_config.json"), R"({"chat_template":"{{ bos_token }}!"})");
  test::hub_weights(shape, DType::kBF16, 3).save(folder.file("model.safetensors"));
  double heard = 0;
  const auto model = load_model(folder.path(), [&](double fraction) { heard = fraction; });
  EXPECT_EQ(model->config().architecture, "llama");
  EXPECT_EQ(model->config().vocab_size, size + 5);
  EXPECT_EQ(model->tokenizer().vocab_size(), size + 5);
  ASSERT_NE(model->chat_template(), nullptr) << model->chat_template_error();
  const std::vector<ChatMessage> messages = {{"user", "x"}};
  EXPECT_EQ(model->chat_template()->render(messages, {}), "<s>!");
  EXPECT_EQ(heard, 1.0);
  json narrow = test::hub_config(shape);
  narrow["hidden_size"] = 16;
  test::write_text(folder.file("config.json"), narrow.dump());
  EXPECT_THROW(load_model(folder.path()), Error);
  test::write_text(folder.file("config.json"), test::hub_config(shape).dump());
  std::filesystem::remove(folder.file("tokenizer.json"));
  EXPECT_THROW(load_model(folder.path()), Error);
}

}  // namespace
}  // namespace tandem::model
