// SPDX-License-Identifier: Apache-2.0
//
// VocabularyTokenizer: the common part of all tokenizers: special tokens, BOS and EOS, the bytes of
// each token. A subclass encodes raw text.
//
// Threads: immutable after construction.
#pragma once

#include <string>
#include <vector>

#include "model/tokenizer/special_tokens.h"
#include "model/tokenizer/vocabulary.h"

namespace tandem::model {

// The position of a raw text.
enum class Place { kStart, kAfterSpecial, kAfterText };

class VocabularyTokenizer : public Tokenizer {
 public:
  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options) const override;
  std::string mark_control(std::string_view text, std::string_view mark) const override;
  std::string_view token_bytes(TokenId id) const override;
  int vocab_size() const override { return vocabulary_.size(); }
  TokenId bos() const override { return vocabulary_.bos; }
  TokenId eos() const override { return vocabulary_.eos; }
  bool is_control(TokenId id) const override;
  bool is_end_of_generation(TokenId id) const override;

 protected:
  // `bytes`: the results of token_bytes(), [vocabulary]. The constructor moves the vocabulary only
  // after `bytes` is complete, so the same call may compute `bytes` from it.
  VocabularyTokenizer(Vocabulary&& vocabulary, std::vector<std::string> bytes);

  // Appends the tokens of `text`, which holds no special token and is not empty. It may stop once
  // `ids` has more than `max_tokens`.
  virtual void encode_raw(std::string_view text, Place place, std::size_t max_tokens,
                          std::vector<TokenId>& ids) const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const std::string& bytes_of(TokenId id) const { return bytes_[static_cast<std::size_t>(id)]; }

 private:
  void encode_fragments(std::string_view text, const EncodeOptions& options, Place& place,
                        std::vector<TokenId>& ids) const;
  void encode_marked(std::string_view text, const EncodeOptions& options,
                     std::vector<TokenId>& ids) const;
  bool inside(TokenId id) const { return id >= 0 && id < vocabulary_.size(); }

  Vocabulary vocabulary_;
  std::vector<std::string> bytes_;
  SpecialTokens specials_;
};

}  // namespace tandem::model
