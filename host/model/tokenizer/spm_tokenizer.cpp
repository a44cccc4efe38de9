// SPDX-License-Identifier: Apache-2.0
//
// SentencePiece-style encoding.
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

// The byte of "<0xHH>", or -1.
int byte_of(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const int high = hex_digit(text[3]), low = hex_digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
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

std::vector<std::string> output_bytes(const GgufFile& file, const Vocabulary& vocabulary) {
  std::vector<std::string> bytes;
  bytes.reserve(vocabulary.texts.size());
  for (std::size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const std::string& text = vocabulary.texts[id];
    const TokenKind kind = vocabulary.kinds[id];
    if (kind == TokenKind::kByte) {
      const int byte = byte_of(text);
      if (byte < 0) {
        throw file.field_error("tokenizer.ggml.tokens",
                               "byte token " + std::to_string(id) + " is not spelt <0xHH>");
      }
      bytes.emplace_back(1, static_cast<char>(byte));
    } else if (kind == TokenKind::kControl || kind == TokenKind::kUnknown) {
      bytes.push_back(text);
    } else {
      bytes.push_back(unescaped(text));
    }
  }
  return bytes;
}

std::string escaped(std::string_view text, bool with_prefix) {
  std::string out;
  out.reserve(text.size() + text.size() / 2 + kSpace.size());
  if (with_prefix) out += kSpace;
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

SpmTokenizer::SpmTokenizer(const GgufFile& file, Vocabulary vocabulary)
    : VocabularyTokenizer(vocabulary, output_bytes(file, vocabulary), true),
      add_space_prefix_(vocabulary.add_space_prefix.value_or(true)) {
  if (vocabulary.scores.empty()) throw file.field_error("tokenizer.ggml.scores", "is missing");
  byte_tokens_.fill(kNoToken);
  const Vocabulary& kept = this->vocabulary();
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

void SpmTokenizer::append_bytes(std::string_view text, std::vector<TokenId>& ids) const {
  const bool has_all = std::all_of(text.begin(), text.end(), [this](char c) {
    return byte_tokens_[static_cast<unsigned char>(c)] != kNoToken;
  });
  if (has_all) {
    for (const char c : text) ids.push_back(byte_tokens_[static_cast<unsigned char>(c)]);
  } else if (vocabulary().unknown != kNoToken) {
    ids.push_back(vocabulary().unknown);
  }
}

void SpmTokenizer::encode_raw(std::string_view text, bool opens, std::vector<TokenId>& ids) const {
  const std::string escaped_text = escaped(text, opens && add_space_prefix_);
  std::vector<Symbol> symbols;
  for (std::size_t at = 0; at < escaped_text.size();) {
    const std::size_t length = next_utf8(std::string_view(escaped_text).substr(at)).length;
    const std::string_view character(escaped_text.data() + at, length);
    symbols.push_back({character, find(character)});
    at += length;
  }
  merge_pairs(symbols, [this](const Symbol& left, const Symbol& right) {
    std::optional<PairMerge> merge;
    const TokenId id = find({left.text.data(), left.text.size() + right.text.size()});
    if (id != kNoToken) merge = {-vocabulary().scores[static_cast<std::size_t>(id)], id};
    return merge;
  });
  for (const Symbol& symbol : symbols) {
    if (symbol.text.empty()) continue;
    if (symbol.id != kNoToken) {
      ids.push_back(symbol.id);
    } else {
      append_bytes(symbol.text, ids);
    }
  }
}

}  // namespace tandem::model
