// SPDX-License-Identifier: Apache-2.0
//
// The cursor over a template's tokens.
#include "model/chat/jinja/token_cursor.h"

namespace tandem::model::jinja {

bool TokenCursor::skip_operator(std::string_view text) {
  if (!at_operator(text)) return false;
  next();
  return true;
}

bool TokenCursor::skip_name(std::string_view text) {
  if (!at_name(text)) return false;
  next();
  return true;
}

void TokenCursor::expect_operator(std::string_view text) {
  if (!skip_operator(text)) fail("expected '" + std::string(text) + "'");
}

void TokenCursor::expect_name(std::string_view text) {
  if (!skip_name(text)) fail("expected '" + std::string(text) + "'");
}

std::string TokenCursor::expect_identifier() {
  if (!at(TokenType::kName)) fail("expected a name");
  return next().text;
}

void TokenCursor::expect(TokenType type, const char* what) {
  if (!at(type)) fail(std::string("expected ") + what);
  next();
}

bool TokenCursor::names_between(std::size_t begin, std::string_view name) const {
  return std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(begin),
                     tokens_.begin() + static_cast<std::ptrdiff_t>(at_), [&](const Token& token) {
                       return token.type == TokenType::kName && token.text == name;
                     });
}

void TokenCursor::fail(const std::string& what) const {
  const std::string found =
      peek().text.empty() ? "" : ", found '" + peek().text.substr(0, 40) + "'";
  fail_at(place(), what + found);
}

}  // namespace tandem::model::jinja
