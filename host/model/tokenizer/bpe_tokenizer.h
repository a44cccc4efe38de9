// SPDX-License-Identifier: Apache-2.0
//
// BpeTokenizer: byte-level byte-pair encoding (tokenizer.ggml.model "gpt2").
//
// A regular expression cuts text into words (pre_tokenizer.h); within a word, bytes merge by the
// file's list of merges, earliest in the list first, leftmost on a tie. Cost: O(n log n) for a
// word of n bytes. Source: Radford et al. 2019 (GPT-2), byte alphabet included.
#pragma once

#include <array>
#include <unordered_map>

#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/vocabulary_tokenizer.h"

namespace tandem::model {

class BpeTokenizer : public VocabularyTokenizer {
 public:
  // Throws Error naming the field when the pre-tokenizer is unknown, or a merge is malformed, has
  // an empty side, or names a token that is not in the vocabulary.
  BpeTokenizer(const GgufFile& file, Vocabulary vocabulary);

  bool strips_leading_space() const override { return false; }

 protected:
  void encode_raw(std::string_view text, bool opens, std::vector<TokenId>& ids) const override;

 private:
  struct Merge {
    std::int32_t rank;
    TokenId id;
  };
  BpeTokenizer(const GgufFile& file, Vocabulary vocabulary, PreTokenizer pre_tokenizer);
  void read_merges(const GgufFile& file);
  TokenId find(std::string_view bytes) const;
  void encode_word(std::string_view word, std::vector<TokenId>& ids) const;

  PreTokenizer pre_tokenizer_;
  std::unordered_map<std::string_view, TokenId> tokens_;  // ordinary ones, by the bytes they mean
  std::unordered_map<std::uint64_t, Merge> merges_;       // by left id << 32 | right id
  std::array<TokenId, 256> byte_tokens_;
};

}  // namespace tandem::model
