// SPDX-License-Identifier: Apache-2.0
//
// SpmTokenizer: byte-pair encoding in the manner of SentencePiece (tokenizer.ggml.model "llama").
//
// Spaces become U+2581; a text that opens (or follows a special token) gets one in front where the
// file asks for it. Characters merge into the piece with the best score, leftmost on a tie; what
// is no piece falls back to its bytes' tokens, else to the unknown token. Cost: O(n log n).
// Source: Kudo and Richardson 2018 (SentencePiece), BPE mode.
#pragma once

#include <array>
#include <unordered_map>

#include "model/tokenizer/vocabulary_tokenizer.h"

namespace tandem::model {

class SpmTokenizer : public VocabularyTokenizer {
 public:
  // Throws Error naming the field when a byte token is not spelt <0xHH> or scores are missing.
  SpmTokenizer(const GgufFile& file, Vocabulary vocabulary);

  bool strips_leading_space() const override { return add_space_prefix_; }

 protected:
  void encode_raw(std::string_view text, bool opens, std::vector<TokenId>& ids) const override;

 private:
  TokenId find(std::string_view piece) const;
  void append_bytes(std::string_view text, std::vector<TokenId>& ids) const;

  std::unordered_map<std::string_view, TokenId> pieces_;  // views of the vocabulary's texts
  std::array<TokenId, 256> byte_tokens_;
  std::size_t longest_piece_ = 0;
  bool add_space_prefix_;
};

}  // namespace tandem::model
