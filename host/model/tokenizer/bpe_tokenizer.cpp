// SPDX-License-Identifier: Apache-2.0
//
// Encodes word by word, in the byte alphabet of GPT-2.
#include "model/tokenizer/bpe_tokenizer.h"

#include "common/utf8.h"
#include "model/tokenizer/merge_queue.h"
#include "model/tokenizer/normal_form.h"

namespace tandem::model {
namespace {

// The byte alphabet: printable Latin-1 represents itself, U+0100 onwards the other bytes.
bool is_printable(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

// Code point -> byte for U+0000..U+0143, -1 if there is none.
std::array<int, 0x144> make_alphabet() {
  std::array<int, 0x144> bytes;
  bytes.fill(-1);
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    bytes[static_cast<std::size_t>(is_printable(byte) ? byte : next++)] = byte;
  }
  return bytes;
}

// The bytes a text in the byte alphabet means; the text itself when it is not in that alphabet.
std::string meant_bytes(std::string_view text) {
  static const std::array<int, 0x144> kAlphabet = make_alphabet();
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Sequence sequence = next_utf8(text.substr(at));
    if (!sequence.valid || sequence.length > 2) return std::string(text);
    std::size_t code = static_cast<unsigned char>(text[at]);
    if (sequence.length == 2) {
      code = (code & 0x1f) << 6 | (static_cast<unsigned char>(text[at + 1]) & 0x3f);
    }
    if (code >= kAlphabet.size() || kAlphabet[code] < 0) return std::string(text);
    out += static_cast<char>(kAlphabet[code]);
    at += sequence.length;
  }
  return out;
}

std::vector<std::string> bpe_output_bytes(const Vocabulary& vocabulary) {
  std::vector<std::string> bytes;
  bytes.reserve(vocabulary.texts.size());
  for (std::size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const bool is_ordinary = vocabulary.kinds[id] == TokenKind::kNormal;
    const std::string& text = vocabulary.texts[id];
    bytes.push_back(is_ordinary ? meant_bytes(text) : text);
  }
  return bytes;
}

}  // namespace

BpeTokenizer::BpeTokenizer(BpeSpec spec)
    : VocabularyTokenizer(std::move(spec.vocabulary), bpe_output_bytes(spec.vocabulary)),
      merges_(std::move(spec.merges)),
      pre_tokenizer_(std::move(spec.pre_tokenizer)),
      takes_whole_words_(spec.takes_whole_words),
      prefixes_space_(spec.prefixes_space),
      composes_characters_(spec.composes_characters) {
  for (TokenId id = 0; id < vocab_size(); ++id) {
    const std::string& bytes = bytes_of(id);
    if (vocabulary().kinds[static_cast<std::size_t>(id)] == TokenKind::kNormal && !bytes.empty()) {
      tokens_.emplace(bytes, id);
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    byte_tokens_[static_cast<std::size_t>(byte)] = find({&c, 1});
  }
}

TokenId BpeTokenizer::find(std::string_view bytes) const {
  const auto found = tokens_.find(bytes);
  return found == tokens_.end() ? kNoToken : found->second;
}

void BpeTokenizer::encode_raw(std::string_view text, Place /*place*/, std::size_t max_tokens,
                              std::vector<TokenId>& ids) const {
  std::string changed;
  if (composes_characters_) text = changed = composed(text);
  if (prefixes_space_ && !text.starts_with(' ')) text = changed = ' ' + std::string(text);
  for (const std::string_view word : pre_tokenizer_.split(text)) {
    if (ids.size() > max_tokens) return;
    encode_word(word, ids);
  }
}

void BpeTokenizer::encode_word(std::string_view word, std::vector<TokenId>& ids) const {
  if (takes_whole_words_) {
    if (const TokenId id = find(word); id != kNoToken) {
      ids.push_back(id);
      return;
    }
  }
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  for (std::size_t at = 0; at < word.size(); ++at) {
    symbols.push_back({word.substr(at, 1), byte_tokens_[static_cast<unsigned char>(word[at])]});
  }
  merge_pairs(symbols, [this](const Symbol& left, const Symbol& right) {
    return merges_.find(left.id, right.id);
  });
  for (const Symbol& symbol : symbols) {
    if (symbol.text.empty()) continue;
    const TokenId id = symbol.id != kNoToken ? symbol.id : vocabulary().unknown;
    if (id != kNoToken) ids.push_back(id);
  }
}

}  // namespace tandem::model
