// SPDX-License-Identifier: Apache-2.0
//
// Lexer: splits the source of a template into text and the tokens inside {{ }} and {% %}.
//
// White space is treated as chat templates expect: a newline after a block or comment is dropped
// (trim_blocks), and so are blanks before one at the start of a line (lstrip_blocks). A - or +
// beside a delimiter overrides this. One newline at the end of the template is dropped; \r\n
// becomes \n. Errors: Failure, "template line N, column M: ...".
#pragma once

#include <string>
#include <vector>

#include "model/chat/jinja/value.h"

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

// A place in the template's source. Lines and columns count from 1; columns count characters.
struct Place {
  int line = 1;
  int column = 1;
};

// Throws Failure: "template line N, column M: ...".
[[noreturn]] void fail_at(const Place& place, const std::string& what);

struct Token {
  TokenType type = TokenType::kEnd;
  std::string text;
  Place place;
};

std::vector<Token> tokenize(const std::string& source);

}  // namespace tandem::model::jinja
