// SPDX-License-Identifier: Apache-2.0
//
// The part of encoding that does not depend on the kind of tokenizer.
#include "model/tokenizer/vocabulary_tokenizer.h"

namespace tandem::model {

VocabularyTokenizer::VocabularyTokenizer(Vocabulary vocabulary, std::vector<std::string> bytes,
                                         bool add_bos_default)
    : vocabulary_(std::move(vocabulary)), bytes_(std::move(bytes)) {
  add_bos_ = vocabulary_.add_bos.value_or(add_bos_default) && vocabulary_.bos != kNoToken;
  add_eos_ = vocabulary_.add_eos.value_or(false) && vocabulary_.eos != kNoToken;
  for (TokenId id = 0; id < vocabulary_.size(); ++id) {
    const TokenKind kind = vocabulary_.kinds[static_cast<std::size_t>(id)];
    const bool is_control = kind == TokenKind::kControl || kind == TokenKind::kUnknown;
    if (is_control || kind == TokenKind::kUserDefined) specials_.add(bytes_of(id), id, is_control);
  }
}

std::vector<TokenId> VocabularyTokenizer::encode(std::string_view text,
                                                 const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  if (options.add_special && add_bos_) ids.push_back(vocabulary_.bos);
  bool opens = true;
  for (const SpecialTokens::Fragment& fragment : specials_.split(text, options.parse_special)) {
    if (fragment.special != kNoToken) {
      ids.push_back(fragment.special);
    } else {
      encode_raw(fragment.raw, opens, ids);
    }
    opens = fragment.special != kNoToken;
  }
  if (options.add_special && add_eos_) ids.push_back(vocabulary_.eos);
  return ids;
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
