// SPDX-License-Identifier: Apache-2.0
//
// Reading of tokenizer.ggml.*.
#include "model/tokenizer/read_tokenizer.h"

#include <cmath>

#include "model/tokenizer/bpe_tokenizer.h"
#include "model/tokenizer/spm_tokenizer.h"

namespace tandem::model {
namespace {

constexpr const char* kTokens = "tokenizer.ggml.tokens";

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
  vocabulary.ends_generation.assign(vocabulary.texts.size(), false);
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                          "tokenizer.ggml.eom_token_id"}) {
    const TokenId id = token_id(file, key, vocabulary.size());
    if (id != kNoToken) vocabulary.ends_generation[static_cast<std::size_t>(id)] = true;
  }
  mark_known_ends(vocabulary);
}

Vocabulary read_vocabulary(const GgufFile& file, bool adds_bos_by_default) {
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
  vocabulary.adds_bos = file.get_bool("tokenizer.ggml.add_bos_token").value_or(adds_bos_by_default);
  vocabulary.adds_eos = file.get_bool("tokenizer.ggml.add_eos_token").value_or(false);
  read_ends(file, vocabulary);
  return vocabulary;
}

SpmSpec read_spm(const GgufFile& file) {
  SpmSpec spec;
  spec.vocabulary = read_vocabulary(file, true);
  if (spec.vocabulary.scores.empty()) throw file.field_error("tokenizer.ggml.scores", "is missing");
  for (std::size_t id = 0; id < spec.vocabulary.texts.size(); ++id) {
    if (spec.vocabulary.kinds[id] == TokenKind::kByte &&
        SpmTokenizer::byte_of(spec.vocabulary.texts[id]) < 0) {
      throw file.field_error(kTokens, "byte token " + std::to_string(id) + " is not spelt <0xHH>");
    }
  }
  const bool has_prefix = file.get_bool("tokenizer.ggml.add_space_prefix").value_or(true);
  spec.prefix = has_prefix ? SpacePrefix::kOpening : SpacePrefix::kNone;
  return spec;
}

PreTokenizer read_pre_tokenizer(const GgufFile& file) {
  constexpr const char* kKey = "tokenizer.ggml.pre";
  const std::string_view name = file.get_string(kKey).value_or("gpt-2");
  if (!PreTokenizer::is_known(name)) {
    throw file.field_error(kKey,
                           "pre-tokenizer '" + std::string(name) +
                               "' is not supported; supported: " + PreTokenizer::known_names());
  }
  return PreTokenizer(name);
}

MergeList read_merges(const GgufFile& file, const Vocabulary& vocabulary) {
  constexpr const char* kKey = "tokenizer.ggml.merges";
  std::unordered_map<std::string_view, TokenId> ids;  // of ordinary tokens
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const auto index = static_cast<std::size_t>(id);
    if (vocabulary.kinds[index] == TokenKind::kNormal) ids.emplace(vocabulary.texts[index], id);
  }
  const auto find = [&](std::string_view text) {
    const auto found = ids.find(text);
    return found == ids.end() ? kNoToken : found->second;
  };
  const std::vector<std::string_view> texts = file.require_strings(kKey);
  MergeList merges;
  merges.reserve(texts.size());
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const std::string_view text = texts[rank];
    const std::size_t space = text.find(' ', 1);
    if (text.size() < 3 || space == std::string_view::npos || space + 1 == text.size()) {
      throw file.field_error(
          kKey, "merge " + std::to_string(rank) + " is not two parts with a space between them");
    }
    const std::string_view left = text.substr(0, space), right = text.substr(space + 1);
    const TokenId left_id = find(left), right_id = find(right),
                  id = find(std::string(left) + std::string(right));
    if (left_id == kNoToken || right_id == kNoToken || id == kNoToken) {
      throw file.field_error(
          kKey, "merge " + std::to_string(rank) + " names a token that is not in the vocabulary");
    }
    merges.add(left_id, right_id, id);
  }
  return merges;
}

BpeSpec read_bpe(const GgufFile& file) {
  PreTokenizer pre_tokenizer = read_pre_tokenizer(file);
  Vocabulary vocabulary = read_vocabulary(file, pre_tokenizer.adds_bos_by_default());
  MergeList merges = read_merges(file, vocabulary);
  const bool takes_whole_words = pre_tokenizer.ignores_merges();
  return {.vocabulary = std::move(vocabulary),
          .merges = std::move(merges),
          .pre_tokenizer = std::move(pre_tokenizer),
          .takes_whole_words = takes_whole_words};
}

}  // namespace

std::unique_ptr<Tokenizer> read_tokenizer(const GgufFile& file) {
  const std::string_view kind = file.require_string("tokenizer.ggml.model");
  if (kind == "llama") return std::make_unique<SpmTokenizer>(read_spm(file));
  if (kind == "gpt2") return std::make_unique<BpeTokenizer>(read_bpe(file));
  throw file.field_error("tokenizer.ggml.model", "tokenizer '" + std::string(kind) +
                                                     "' is not supported; supported: llama, gpt2");
}

}  // namespace tandem::model
