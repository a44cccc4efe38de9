// SPDX-License-Identifier: Apache-2.0
//
// Follows the escapes of GNU make's prerequisites as GCC and Clang write them: backslashes before a
// blank or '#' are doubled, other backslashes are literal.
#include "bitstreams/compiler/depfile.h"

namespace tandem::xclbin {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Reads one word from `at` on, and moves `at` to its end.
std::string next_word(const std::string& text, size_t& at) {
  std::string word;
  while (at < text.size() && !is_blank(text[at])) {
    if (text[at] == '$' && at + 1 < text.size() && text[at + 1] == '$') {
      word += '$';
      at += 2;
      continue;
    }
    size_t end = at;
    while (end < text.size() && text[end] == '\\') ++end;
    const size_t num_slashes = end - at;
    const char after = end < text.size() ? text[end] : '\n';
    const bool escaping = num_slashes > 0 && (after == ' ' || after == '\t' || after == '#');
    word.append(escaping ? num_slashes / 2 : num_slashes, '\\');
    at = end;
    if (num_slashes == 0 || (escaping && num_slashes % 2 == 1)) word += text[at++];
  }
  return word;
}

}  // namespace

std::vector<std::string> parse_depfile(const std::string& text) {
  std::string joined;  // a backslash before the end of a line continues it
  for (size_t at = 0; at < text.size(); ++at) {
    const bool windows = text.compare(at, 3, "\\\r\n") == 0;
    if (windows || text.compare(at, 2, "\\\n") == 0) {
      joined += ' ';
      at += windows ? 2 : 1;
    } else {
      joined += text[at];
    }
  }
  std::vector<std::string> paths;
  for (size_t at = 0; at < joined.size();) {
    const std::string word = next_word(joined, at);
    if (!word.empty() && word.back() != ':') paths.push_back(word);
    while (at < joined.size() && is_blank(joined[at])) ++at;
  }
  return paths;
}

std::string escape_for_make(const std::string& path) {
  std::string escaped;
  size_t num_slashes = 0;  // just before the character
  for (char c : path) {
    if (c == ' ' || c == '\t' || c == '#') escaped.append(num_slashes + 1, '\\');
    if (c == '$') escaped += '$';
    escaped += c;
    num_slashes = c == '\\' ? num_slashes + 1 : 0;
  }
  return escaped;
}

}  // namespace tandem::xclbin
