// SPDX-License-Identifier: Apache-2.0
//
// TokenText: the tokens of a text. TokenRows: windows of it as batches.
//
// A text file is mapped and tokenised as one text. Files whose names end in .u16 or .u32 contain
// token ids (little endian) and stay mapped. If the tokenizer has a BOS, every window begins with
// it, as in `tandem perplexity` and in a server, so every token of the window is predicted.
// Threads: immutable. Errors: Error("train", ...) for a path that is not a file, text that is not
// UTF-8, ids beyond the vocabulary, or a truncated file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/loader/mapped_file.h"
#include "model/tokenizer/tokenizer.h"
#include "training/trainer/computation.h"

namespace tandem::training {

class TokenText {
 public:
  TokenText(const std::string& path, const model::Tokenizer& tokenizer);

  std::uint64_t size() const { return size_; }
  std::int32_t operator[](std::uint64_t at) const;

 private:
  void check_ids(const std::string& path, int vocab_size) const;

  std::optional<model::MappedFile> mapping_;  // only for a file of ids
  std::uint64_t size_ = 0;
  int id_bytes_ = 4;
  std::vector<model::TokenId> own_;
  const std::byte* ids_ = nullptr;
};

// Rows of tokens with their targets.
class TokenRows {
 public:
  TokenRows(int rows, int columns);

  // Row `row` predicts text[begin, begin + count); the rest of the row does not count. bos: if it
  // is kNoToken, the row begins with text[begin] and predicts count - 1 tokens from begin + 1 on.
  void fill(int row, const TokenText& text, std::uint64_t begin, std::uint64_t count,
            model::TokenId bos);
  void clear(int row);  // no token of the row counts
  TokenBatch view() const;
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  std::uint64_t num_scored() const;

 private:
  int rows_, columns_;
  std::vector<std::int32_t> tokens_, targets_;
};

// The negative log-likelihood summed over a text, in the windows of `tandem perplexity --context`,
// and the number of its tokens.
struct Likelihood {
  double nll = 0;
  std::uint64_t tokens = 0;
};
struct EvaluationPart {
  int part = 0, parts = 1;  // ranks share the batches
};
Likelihood evaluate(Computation& computation, const TokenText& text, TokenRows& batch,
                    model::TokenId bos, EvaluationPart part);

}  // namespace tandem::training
