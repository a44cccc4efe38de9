// SPDX-License-Identifier: Apache-2.0
//
// The part of encoding that does not depend on the kind of tokenizer.
#include "model/tokenizer/vocabulary_tokenizer.h"

#include <algorithm>

#include "common/utf8.h"

namespace tandem::model {

VocabularyTokenizer::VocabularyTokenizer(Vocabulary&& vocabulary, std::vector<std::string> bytes)
    : vocabulary_(std::move(vocabulary)), bytes_(std::move(bytes)) {
  vocabulary_.adds_bos = vocabulary_.adds_bos && vocabulary_.bos != kNoToken;
  vocabulary_.adds_eos = vocabulary_.adds_eos && vocabulary_.eos != kNoToken;
  for (TokenId id = 0; id < vocabulary_.size(); ++id) {
    const TokenKind kind = vocabulary_.kinds[static_cast<std::size_t>(id)];
    const bool is_control = kind == TokenKind::kControl || kind == TokenKind::kUnknown;
    if (!is_control && kind != TokenKind::kUserDefined) continue;
    const auto swallow = vocabulary_.swallows.find(id);
    specials_.add(bytes_of(id), id, is_control,
                  swallow == vocabulary_.swallows.end() ? SwallowedBlanks{} : swallow->second);
  }
}

std::vector<TokenId> VocabularyTokenizer::encode(std::string_view text,
                                                 const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  if (options.add_special && vocabulary_.adds_bos) ids.push_back(vocabulary_.bos);
  Place place = Place::kStart;
  if (options.ignored_mark.empty()) {
    encode_fragments(text, options, place, ids);
  } else {
    encode_marked(text, options, ids);
  }
  if (options.add_special && vocabulary_.adds_eos) ids.push_back(vocabulary_.eos);
  return ids;
}

void VocabularyTokenizer::encode_fragments(std::string_view text, const EncodeOptions& options,
                                           Place& place, std::vector<TokenId>& ids) const {
  for (const SpecialTokens::Fragment& fragment : specials_.split(text, options.parse_special)) {
    if (ids.size() > options.max_tokens) return;
    if (fragment.special != kNoToken) {
      ids.push_back(fragment.special);
    } else {
      encode_raw(fragment.text, place, options.max_tokens, ids);
    }
    place = fragment.special != kNoToken ? Place::kAfterSpecial : Place::kAfterText;
  }
}

// The text between two control tokens is encoded as one text without its marks.
void VocabularyTokenizer::encode_marked(std::string_view text, const EncodeOptions& options,
                                        std::vector<TokenId>& ids) const {
  const std::string_view mark = options.ignored_mark;
  Place place = Place::kStart;
  std::string run;
  EncodeOptions ordinary = options;
  ordinary.parse_special = false;
  const auto encode_run = [&] {
    std::string plain;
    for (std::size_t at = 0; at < run.size();) {
      const std::size_t found = std::min(run.find(mark, at), run.size());
      plain.append(run, at, found - at);
      at = found + mark.size();
    }
    encode_fragments(plain, ordinary, place, ids);
    run.clear();
  };
  for (const auto& fragment : specials_.split(text, options.parse_special)) {
    const auto end =
        static_cast<std::size_t>(fragment.text.data() - text.data()) + fragment.text.size();
    if (is_control(fragment.special) && !text.substr(end).starts_with(mark)) {
      encode_run();
      if (ids.size() > options.max_tokens) return;
      ids.push_back(fragment.special);
      place = Place::kAfterSpecial;
    } else {
      run += fragment.with_blanks;
    }
  }
  encode_run();
}

std::string VocabularyTokenizer::mark_control(std::string_view text, std::string_view mark) const {
  std::string marked;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = specials_.control_begins(text.substr(at));
    const std::size_t length = begins ? next_utf8(text.substr(at)).length : 1;
    marked += text.substr(at, length);
    if (begins) marked += mark;
    at += length;
  }
  return marked;
}

std::string_view VocabularyTokenizer::token_bytes(TokenId id) const {
  return inside(id) ? std::string_view(bytes_of(id)) : std::string_view();
}

bool VocabularyTokenizer::is_control(TokenId id) const {
  if (!inside(id)) return false;
  const TokenKind kind = vocabulary_.kinds[static_cast<std::size_t>(id)];
  return kind == TokenKind::kControl || kind == TokenKind::kUnknown;
}

bool VocabularyTokenizer::is_end_of_generation(TokenId id) const {
  return inside(id) && vocabulary_.ends_generation[static_cast<std::size_t>(id)];
}

}  // namespace tandem::model
