// SPDX-License-Identifier: Apache-2.0
//
// PreTokenizer: cuts text into the words that byte-level BPE encodes one by one.
//
// A pre-tokenizer is a list of regular expressions. Each cuts the pieces of the previous one into
// its matches and the gaps between them; Behaviour says how these become pieces. A byte that is not
// UTF-8 is a separate word. Threads: const calls from any thread. Cost: linear in the text for the
// expressions known by name; for all others backtracking is bounded per call. Errors:
// Error("tokenizer", ...) when an expression does not compile or matching exceeds its bound.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::model {

// How the matches of an expression become pieces.
enum class SplitBehaviour {
  kIsolated,
  kRemoved,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous
};

struct Split {
  std::string expression;  // in the syntax of Oniguruma; ^ and $ match at every line
  bool is_literal = false;
  SplitBehaviour behaviour = SplitBehaviour::kIsolated;
  bool is_inverted = false;  // matches and gaps change their roles
};

class PreTokenizer {
 public:
  // For expressions of a model's own file. Throws Error on an expression that is too long, wrong,
  // or has a different meaning for the regular expression library used here.
  explicit PreTokenizer(const std::vector<Split>& splits);
  // `name` as in tokenizer.ggml.pre; is_known(name) must hold.
  explicit PreTokenizer(std::string_view name);
  ~PreTokenizer();
  PreTokenizer(PreTokenizer&&) noexcept;

  std::vector<std::string_view> split(std::string_view text) const;

  // Whether a word that is a token as a whole is taken without merging (Llama 3).
  bool ignores_merges() const;
  bool adds_bos_by_default() const;

  static bool is_known(std::string_view name);
  static std::string known_names();  // for messages

  static const char* gpt2_expression();  // the expression of byte-level BPE if a file names none

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::model
