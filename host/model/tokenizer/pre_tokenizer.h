// SPDX-License-Identifier: Apache-2.0
//
// PreTokenizer: cuts text into the words that byte-level BPE encodes one by one.
//
// A pre-tokenizer is one or more regular expressions; each cuts the pieces of the one before into
// its matches and the gaps between them. Bytes that are not UTF-8 become words of their own.
// Threads: const calls from any thread. Cost: linear in the text for the expressions listed.
// Errors: Error("tokenizer", ...) when the regular expression library fails.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::model {

class PreTokenizer {
 public:
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

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::model
