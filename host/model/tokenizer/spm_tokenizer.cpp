// SPDX-License-Identifier: Apache-2.0
//
// Splits a text into characters, merges them, and falls back to bytes.
#include "model/tokenizer/spm_tokenizer.h"

#include <algorithm>

#include "common/utf8.h"
#include "model/tokenizer/merge_queue.h"

namespace tandem::model {
namespace {

constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with(kSpace)) {
      out += ' ';
      at += kSpace.size();
    } else {
      out += text[at++];
    }
  }
  return out;
}

std::vector<std::string> spm_output_bytes(const Vocabulary& vocabulary) {
  std::vector<std::string> bytes;
  bytes.reserve(vocabulary.texts.size());
  for (std::size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const std::string& text = vocabulary.texts[id];
    const TokenKind kind = vocabulary.kinds[id];
    if (kind == TokenKind::kByte) {
      bytes.emplace_back(1, static_cast<char>(SpmTokenizer::byte_of(text)));
    } else if (kind == TokenKind::kControl || kind == TokenKind::kUnknown) {
      bytes.push_back(text);
    } else {
      bytes.push_back(unescaped(text));
    }
  }
  return bytes;
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 2 + kSpace.size());
  for (const char c : text) {
    if (c == ' ') {
      out += kSpace;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

int SpmTokenizer::byte_of(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const int high = hex_digit(text[3]), low = hex_digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

SpmTokenizer::SpmTokenizer(SpmSpec spec)
    : VocabularyTokenizer(std::move(spec.vocabulary), spm_output_bytes(spec.vocabulary)),
      merges_(std::move(spec.merges)),
      prefix_(spec.prefix),
      fuses_unknown_(spec.fuses_unknown),
      splits_words_(spec.splits_words) {
  byte_tokens_.fill(kNoToken);
  const Vocabulary& kept = vocabulary();
  for (TokenId id = 0; id < kept.size(); ++id) {
    const std::string& text = kept.texts[static_cast<std::size_t>(id)];
    const TokenKind kind = kept.kinds[static_cast<std::size_t>(id)];
    if (kind == TokenKind::kByte) {
      byte_tokens_[static_cast<std::size_t>(byte_of(text))] = id;
    } else if (kind != TokenKind::kControl && kind != TokenKind::kUnknown && !text.empty()) {
      pieces_.emplace(text, id);
      longest_piece_ = std::max(longest_piece_, text.size());
    }
  }
}

TokenId SpmTokenizer::find(std::string_view piece) const {
  if (piece.size() > longest_piece_) return kNoToken;
  const auto found = pieces_.find(piece);
  return found == pieces_.end() ? kNoToken : found->second;
}

// False: not all of the bytes have tokens.
bool SpmTokenizer::append_bytes(std::string_view text, std::vector<TokenId>& ids) const {
  const bool has_all = std::all_of(text.begin(), text.end(), [this](char c) {
    return byte_tokens_[static_cast<unsigned char>(c)] != kNoToken;
  });
  if (!has_all) return false;
  for (const char c : text) ids.push_back(byte_tokens_[static_cast<unsigned char>(c)]);
  return true;
}

bool SpmTokenizer::needs_prefix(std::string_view escaped_text, Place place) const {
  switch (prefix_) {
    case SpacePrefix::kOpening:
      return place != Place::kAfterText;
    case SpacePrefix::kOpeningBare:
      return place != Place::kAfterText && !escaped_text.starts_with(kSpace);
    case SpacePrefix::kFirstBare:
      return place == Place::kStart && !escaped_text.starts_with(kSpace);
    default:
      return false;
  }
}

void SpmTokenizer::encode_raw(std::string_view text, Place place, std::size_t max_tokens,
                              std::vector<TokenId>& ids) const {
  std::string whole = escaped(text);
  if (needs_prefix(whole, place)) whole.insert(0, kSpace);
  std::string_view rest = whole;
  while (!rest.empty() && ids.size() <= max_tokens) {
    const std::size_t next = splits_words_ ? rest.find(kSpace, 1) : std::string_view::npos;
    encode_word(rest.substr(0, next), ids);
    rest = next == std::string_view::npos ? std::string_view() : rest.substr(next);
  }
}

void SpmTokenizer::encode_word(std::string_view word, std::vector<TokenId>& ids) const {
  std::vector<Symbol> symbols;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t length = next_utf8(word.substr(at)).length;
    const std::string_view character = word.substr(at, length);
    symbols.push_back({character, find(character)});
    at += length;
  }
  merge_pairs(symbols, [this](const Symbol& left, const Symbol& right) {
    if (merges_) return merges_->find(left.id, right.id);
    std::optional<PairMerge> merge;
    const TokenId id = find({left.text.data(), left.text.size() + right.text.size()});
    if (id != kNoToken) merge = {-vocabulary().scores[static_cast<std::size_t>(id)], id};
    return merge;
  });
  bool was_unknown = false;
  for (const Symbol& symbol : symbols) {
    if (symbol.text.empty()) continue;
    bool is_unknown = false;
    if (symbol.id != kNoToken) {
      ids.push_back(symbol.id);
    } else if (!append_bytes(symbol.text, ids)) {
      is_unknown = true;
      const bool is_fused = was_unknown && fuses_unknown_;
      if (vocabulary().unknown != kNoToken && !is_fused) ids.push_back(vocabulary().unknown);
    }
    was_unknown = is_unknown;
  }
}

}  // namespace tandem::model
