// SPDX-License-Identifier: Apache-2.0
//
// BpeTokenizer: byte-level byte-pair encoding.
//
// Regular expressions cut text into words (pre_tokenizer.h). Within a word, bytes merge in the
// order of the list of merges, leftmost first on a tie. Cost: O(n log n) for a word of n bytes.
// Source: Radford et al. 2019 (GPT-2), byte alphabet included.
#pragma once

#include <array>
#include <unordered_map>

#include "model/tokenizer/merge_list.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/vocabulary_tokenizer.h"

namespace tandem::model {

struct BpeSpec {
  Vocabulary vocabulary;  // ordinary texts in the byte alphabet
  MergeList merges;
  PreTokenizer pre_tokenizer;
  bool takes_whole_words = false;    // a word that is a token as a whole is not merged (Llama 3)
  bool prefixes_space = false;       // adds a space before a text without one
  bool composes_characters = false;  // applies Unicode's normal form C first
};

class BpeTokenizer : public VocabularyTokenizer {
 public:
  explicit BpeTokenizer(BpeSpec spec);

  bool strips_leading_space() const override { return false; }

 protected:
  void encode_raw(std::string_view text, Place place, std::size_t max_tokens,
                  std::vector<TokenId>& ids) const override;

 private:
  TokenId find(std::string_view bytes) const;
  void encode_word(std::string_view word, std::vector<TokenId>& ids) const;

  MergeList merges_;
  PreTokenizer pre_tokenizer_;
  bool takes_whole_words_, prefixes_space_, composes_characters_;
  std::unordered_map<std::string_view, TokenId> tokens_;  // ordinary ones, by the bytes they mean
  std::array<TokenId, 256> byte_tokens_;
};

}  // namespace tandem::model
