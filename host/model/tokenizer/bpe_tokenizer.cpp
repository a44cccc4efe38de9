// SPDX-License-Identifier: Apache-2.0
//
// Byte-level BPE encoding.
#include "model/tokenizer/bpe_tokenizer.h"

#include "common/utf8.h"
#include "model/tokenizer/merge_queue.h"

namespace tandem::model {
namespace {

// The byte alphabet: printable Latin-1 stands for itself, the other bytes for U+0100 onwards.
bool is_printable(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

// Code point -> byte for U+0000..U+0143, -1 where there is none.
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

std::vector<std::string> output_bytes(const Vocabulary& vocabulary) {
  std::vector<std::string> bytes;
  bytes.reserve(vocabulary.texts.size());
  for (std::size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const bool is_ordinary = vocabulary.kinds[id] == TokenKind::kNormal;
    const std::string& text = vocabulary.texts[id];
    bytes.push_back(is_ordinary ? meant_bytes(text) : text);
  }
  return bytes;
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

std::uint64_t pair_key(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

}  // namespace

BpeTokenizer::BpeTokenizer(const GgufFile& file, Vocabulary vocabulary)
    : BpeTokenizer(file, std::move(vocabulary), read_pre_tokenizer(file)) {}

BpeTokenizer::BpeTokenizer(const GgufFile& file, Vocabulary vocabulary, PreTokenizer pre_tokenizer)
    : VocabularyTokenizer(vocabulary, output_bytes(vocabulary),
                          pre_tokenizer.adds_bos_by_default()),
      pre_tokenizer_(std::move(pre_tokenizer)) {
  for (TokenId id = 0; id < vocab_size(); ++id) {
    const std::string& bytes = bytes_of(id);
    if (this->vocabulary().kinds[static_cast<std::size_t>(id)] == TokenKind::kNormal &&
        !bytes.empty()) {
      tokens_.emplace(bytes, id);
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    byte_tokens_[static_cast<std::size_t>(byte)] = find({&c, 1});
  }
  read_merges(file);
}

void BpeTokenizer::read_merges(const GgufFile& file) {
  constexpr const char* kKey = "tokenizer.ggml.merges";
  const std::vector<std::string_view> texts = file.require_strings(kKey);
  merges_.reserve(texts.size());
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const std::string_view text = texts[rank];
    const std::size_t space = text.find(' ', 1);
    if (text.size() < 3 || space == std::string_view::npos || space + 1 == text.size()) {
      throw file.field_error(
          kKey, "merge " + std::to_string(rank) + " is not two parts with a space between them");
    }
    const std::string left = meant_bytes(text.substr(0, space));
    const std::string right = meant_bytes(text.substr(space + 1));
    const TokenId left_id = find(left), right_id = find(right), id = find(left + right);
    if (left_id == kNoToken || right_id == kNoToken || id == kNoToken) {
      throw file.field_error(
          kKey, "merge " + std::to_string(rank) + " names a token that is not in the vocabulary");
    }
    merges_.emplace(pair_key(left_id, right_id), Merge{static_cast<std::int32_t>(rank), id});
  }
}

TokenId BpeTokenizer::find(std::string_view bytes) const {
  const auto found = tokens_.find(bytes);
  return found == tokens_.end() ? kNoToken : found->second;
}

void BpeTokenizer::encode_raw(std::string_view text, bool /*opens*/,
                              std::vector<TokenId>& ids) const {
  for (const std::string_view word : pre_tokenizer_.split(text)) encode_word(word, ids);
}

void BpeTokenizer::encode_word(std::string_view word, std::vector<TokenId>& ids) const {
  if (pre_tokenizer_.ignores_merges()) {
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
    std::optional<PairMerge> merge;
    if (left.id == kNoToken || right.id == kNoToken) return merge;
    const auto found = merges_.find(pair_key(left.id, right.id));
    if (found != merges_.end()) {
      merge = {static_cast<double>(found->second.rank), found->second.id};
    }
    return merge;
  });
  for (const Symbol& symbol : symbols) {
    if (symbol.text.empty()) continue;
    const TokenId id = symbol.id != kNoToken ? symbol.id : vocabulary().unknown;
    if (id != kNoToken) ids.push_back(id);
  }
}

}  // namespace tandem::model
