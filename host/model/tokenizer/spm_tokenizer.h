// SPDX-License-Identifier: Apache-2.0
//
// SpmTokenizer: byte-pair encoding in the manner of SentencePiece.
//
// Spaces become U+2581; if the spec says so, a text gets one at its beginning. Characters merge
// into the piece with the best score, or by a list of merges if there is one; leftmost on a tie.
// Text without a piece becomes the tokens of its bytes, otherwise the unknown token. Cost: O(n log
// n). Source: Kudo and Richardson 2018 (SentencePiece), BPE mode.
#pragma once

#include <array>
#include <unordered_map>

#include "model/tokenizer/merge_list.h"
#include "model/tokenizer/vocabulary_tokenizer.h"

namespace tandem::model {

// The texts that get a space at their beginning.
enum class SpacePrefix {
  kNone,
  kOpening,      // texts at the start or after a special token
  kOpeningBare,  // the same, unless the text begins with a space
  kFirstBare     // only the text at the start, unless it begins with a space
};

struct SpmSpec {
  Vocabulary vocabulary;            // byte tokens are spelt <0xHH>: see byte_of()
  std::optional<MergeList> merges;  // none: by the vocabulary's scores
  SpacePrefix prefix = SpacePrefix::kOpening;
  bool fuses_unknown = false;  // neighbouring unknown characters are one token
  bool splits_words = false;   // no merge across the space before a word
};

class SpmTokenizer : public VocabularyTokenizer {
 public:
  explicit SpmTokenizer(SpmSpec spec);

  // The byte of "<0xHH>", or -1.
  static int byte_of(std::string_view text);

  bool strips_leading_space() const override { return prefix_ != SpacePrefix::kNone; }

 protected:
  void encode_raw(std::string_view text, Place place, std::size_t max_tokens,
                  std::vector<TokenId>& ids) const override;

 private:
  TokenId find(std::string_view piece) const;
  bool needs_prefix(std::string_view escaped, Place place) const;
  void encode_word(std::string_view word, std::vector<TokenId>& ids) const;
  bool append_bytes(std::string_view text, std::vector<TokenId>& ids) const;

  std::optional<MergeList> merges_;
  std::unordered_map<std::string_view, TokenId> pieces_;  // views of the vocabulary's texts
  std::array<TokenId, 256> byte_tokens_;
  std::size_t longest_piece_ = 0;
  SpacePrefix prefix_;
  bool fuses_unknown_, splits_words_;
};

}  // namespace tandem::model
