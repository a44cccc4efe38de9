// SPDX-License-Identifier: Apache-2.0
//
// Runs of plain characters are copied at once.
#include "server/openai/json_text.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "common/utf8.h"

namespace tandem::server::openai {
namespace {

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
}

void append_special(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  std::array<char, 8> code{};
  std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned char>(c));
  out += code.data();
}

template <typename Number>
void append_digits(std::string& out, Number number) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

}  // namespace

void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(text[plain])) ++plain;
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) return;
    std::size_t length = 1;
    if (static_cast<unsigned char>(text.front()) < 0x80) {
      append_special(out, text.front());
    } else {
      const Utf8Sequence sequence = next_utf8(text);
      length = sequence.length;
      out.append(sequence.valid ? text.substr(0, length) : std::string_view("\xef\xbf\xbd"));
    }
    text.remove_prefix(length);
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  append_escaped(out, text);
  out += '"';
}

void append_number(std::string& out, float number) { append_digits(out, number); }
void append_number(std::string& out, std::int64_t number) { append_digits(out, number); }

}  // namespace tandem::server::openai
