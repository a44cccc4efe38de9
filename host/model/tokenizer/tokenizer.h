// SPDX-License-Identifier: Apache-2.0
//
// Tokenizer: converts between text and token ids, by the metadata of the model file.
//
// Threads: const calls from any thread. Input text is UTF-8; invalid bytes are encoded byte by
// byte, never rejected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::model {

using TokenId = std::int32_t;
constexpr TokenId kNoToken = -1;

struct EncodeOptions {
  bool add_special = true;  // adds BOS / EOS if the metadata says so
  // text such as <|user|> becomes its control token (templates do, user input does not)
  bool parse_special = false;
  // The mark is dropped before ordinary text is encoded. A control token's text with a mark inside
  // or directly after it stays ordinary text. See mark_control().
  std::string_view ignored_mark = {};
  // Encoding stops soon after it has more tokens than this; the rest of the text is then not
  // encoded.
  std::size_t max_tokens = std::numeric_limits<std::size_t>::max();
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::vector<TokenId> encode(std::string_view text,
                                      const EncodeOptions& options) const = 0;

  // Puts `mark` after the first character of every control token's text in `text`. If the result is
  // encoded with that ignored_mark, no part of it becomes a control token.
  virtual std::string mark_control(std::string_view text, std::string_view mark) const = 0;

  // The bytes of a token in the output: a piece with its space, a single byte of a byte-fallback
  // token, or the text of a control token. A token may end inside a UTF-8 sequence.
  virtual std::string_view token_bytes(TokenId id) const = 0;

  virtual int vocab_size() const = 0;
  virtual TokenId bos() const = 0;  // kNoToken if there is none
  virtual TokenId eos() const = 0;
  virtual bool is_control(TokenId id) const = 0;            // not shown to a reader
  virtual bool is_end_of_generation(TokenId id) const = 0;  // EOS, EOT, <|im_end|>, ...
  // Whether the first piece of a text carries an artificial leading space that decoding removes.
  virtual bool strips_leading_space() const = 0;
};

// The text of a whole sequence; control tokens are left out.
std::string decode(const Tokenizer& tokenizer, const std::vector<TokenId>& ids);

// Incremental decoding: push() returns the text that is complete, never a part of a UTF-8 sequence.
// Bytes that cannot become a sequence are replaced by U+FFFD. finish() returns the rest.
class Detokenizer {
 public:
  // `at_start`: the first token opens a text (its artificial leading space is dropped); false when
  // it continues one.
  Detokenizer(const Tokenizer& tokenizer, bool at_start);
  std::string push(TokenId id);
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  bool drop_space_;
  std::string pending_;
};

}  // namespace tandem::model
