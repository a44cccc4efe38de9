// SPDX-License-Identifier: Apache-2.0
//
// Lexer: template source -> text, and the tokens inside {{ }} and {% %}.
//
// White space is treated as chat templates expect: a newline after a block or comment is dropped
// (trim_blocks), and so are blanks before one at the start of a line (lstrip_blocks). A - or +
// beside a delimiter overrides this. One newline at the end of the template is dropped; \r\n
// becomes \n. Errors: Error("chat", "template line N: ...").
#pragma once

#include <string>
#include <vector>

namespace tandem::model::jinja {

enum class TokenType {
  kText,        // outside of tags
  kPrintBegin,  // {{
  kPrintEnd,    // }}
  kBlockBegin,  // {%
  kBlockEnd,    // %}
  kName,
  kString,  // its value, escapes resolved
  kInteger,
  kReal,
  kOperator,  // punctuation too
  kEnd
};

struct Token {
  TokenType type = TokenType::kEnd;
  std::string text;
  int line = 1;
};

std::vector<Token> tokenize(const std::string& source);

}  // namespace tandem::model::jinja
