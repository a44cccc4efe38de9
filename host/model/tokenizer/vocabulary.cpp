// SPDX-License-Identifier: Apache-2.0
//
// Reading of tokenizer.ggml.*.
#include "model/tokenizer/vocabulary.h"

#include <algorithm>
#include <cmath>

namespace tandem::model {
namespace {

constexpr std::size_t kMaxTokens = std::size_t{1} << 26;

// Texts by which files name the end of a turn or of a text without a metadata key for it.
constexpr std::string_view kEndTexts[] = {"<|eot_id|>",
                                          "<|eom_id|>",
                                          "<|im_end|>",
                                          "<|end|>",
                                          "<end_of_turn>",
                                          "<|endoftext|>",
                                          "<|end_of_text|>",
                                          "<|end_of_turn|>",
                                          "<EOT>",
                                          "<|EOT|>",
                                          "<\xef\xbd\x9c"
                                          "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>"};

TokenId token_id(const GgufFile& file, const char* key, int vocab_size) {
  // Some writers say "none" with 0xffffffff.
  const auto id = file.get_u32(key);
  if (!id || *id == 0xffffffffu) return kNoToken;
  if (*id >= static_cast<std::uint32_t>(vocab_size)) {
    throw file.field_error(key, "token " + std::to_string(*id) + " is outside the vocabulary of " +
                                    std::to_string(vocab_size));
  }
  return static_cast<TokenId>(*id);
}

void read_kinds(const GgufFile& file, Vocabulary& vocabulary) {
  constexpr const char* kKey = "tokenizer.ggml.token_type";
  const auto kinds = file.get_i32s(kKey);
  vocabulary.kinds.assign(vocabulary.texts.size(), TokenKind::kNormal);
  if (!kinds) return;
  if (kinds->size() != vocabulary.texts.size()) {
    throw file.field_error(kKey, std::to_string(kinds->size()) + " kinds for " +
                                     std::to_string(vocabulary.texts.size()) + " tokens");
  }
  for (std::size_t id = 0; id < kinds->size(); ++id) {
    const std::int32_t kind = (*kinds)[id];
    if (kind < 0 || kind > 6) {
      throw file.field_error(
          kKey, "token " + std::to_string(id) + " has the unknown kind " + std::to_string(kind));
    }
    // 0 is "undefined", which writers use for ordinary tokens.
    vocabulary.kinds[id] = kind == 0 ? TokenKind::kNormal : static_cast<TokenKind>(kind);
  }
}

void read_scores(const GgufFile& file, Vocabulary& vocabulary) {
  constexpr const char* kKey = "tokenizer.ggml.scores";
  auto scores = file.get_f32s(kKey);
  if (!scores) return;
  if (scores->size() != vocabulary.texts.size()) {
    throw file.field_error(kKey, std::to_string(scores->size()) + " scores for " +
                                     std::to_string(vocabulary.texts.size()) + " tokens");
  }
  for (std::size_t id = 0; id < scores->size(); ++id) {
    if (std::isnan((*scores)[id])) {
      throw file.field_error(kKey, "the score of token " + std::to_string(id) + " is not a number");
    }
  }
  vocabulary.scores = *std::move(scores);
}

void read_ends(const GgufFile& file, Vocabulary& vocabulary) {
  const int size = vocabulary.size();
  vocabulary.ends_generation.assign(vocabulary.texts.size(), false);
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                          "tokenizer.ggml.eom_token_id"}) {
    const TokenId id = token_id(file, key, size);
    if (id != kNoToken) vocabulary.ends_generation[static_cast<std::size_t>(id)] = true;
  }
  for (std::size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const auto* found = std::find(std::begin(kEndTexts), std::end(kEndTexts), vocabulary.texts[id]);
    if (found == std::end(kEndTexts)) continue;
    vocabulary.ends_generation[id] = true;
    // Writers that leave them ordinary would have them shown to the reader.
    if (vocabulary.kinds[id] == TokenKind::kNormal) vocabulary.kinds[id] = TokenKind::kControl;
  }
}

}  // namespace

Vocabulary read_vocabulary(const GgufFile& file) {
  constexpr const char* kTokens = "tokenizer.ggml.tokens";
  Vocabulary vocabulary;
  const std::vector<std::string_view> texts = file.require_strings(kTokens);
  if (texts.empty() || texts.size() > kMaxTokens) {
    throw file.field_error(kTokens, "a vocabulary of " + std::to_string(texts.size()) + " tokens");
  }
  vocabulary.texts.assign(texts.begin(), texts.end());
  const int size = vocabulary.size();
  read_kinds(file, vocabulary);
  read_scores(file, vocabulary);
  vocabulary.bos = token_id(file, "tokenizer.ggml.bos_token_id", size);
  vocabulary.eos = token_id(file, "tokenizer.ggml.eos_token_id", size);
  vocabulary.unknown = token_id(file, "tokenizer.ggml.unknown_token_id", size);
  vocabulary.add_bos = file.get_bool("tokenizer.ggml.add_bos_token");
  vocabulary.add_eos = file.get_bool("tokenizer.ggml.add_eos_token");
  vocabulary.add_space_prefix = file.get_bool("tokenizer.ggml.add_space_prefix");
  read_ends(file, vocabulary);
  return vocabulary;
}

}  // namespace tandem::model
