// SPDX-License-Identifier: Apache-2.0
//
// TokenCursor: the tokens of a template and a place among them, shared by both parsers.
//
// Never moves beyond the last token (kEnd). Errors: Failure, "template line N, column M: ...".
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/chat/jinja/lexer.h"

namespace tandem::model::jinja {

class TokenCursor {
 public:
  explicit TokenCursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek() const { return tokens_[at_]; }
  const Token& peek_second() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[peek().type == TokenType::kEnd ? at_ : at_++]; }
  const Place& place() const { return peek().place; }
  // Whether a token from position `begin` up to here is this name.
  bool names_between(std::size_t begin, std::string_view name) const;
  std::size_t position() const { return at_; }

  bool at(TokenType type) const { return peek().type == type; }
  bool at_operator(std::string_view text) const {
    return at(TokenType::kOperator) && peek().text == text;
  }
  bool at_name(std::string_view text) const { return at(TokenType::kName) && peek().text == text; }
  bool skip_operator(std::string_view text);
  bool skip_name(std::string_view text);
  void expect_operator(std::string_view text);
  void expect_name(std::string_view text);
  std::string expect_identifier();
  void expect(TokenType type, const char* what);
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::vector<Token> tokens_;  // ends with kEnd
  std::size_t at_ = 0;
};

}  // namespace tandem::model::jinja
