// SPDX-License-Identifier: Apache-2.0
//
// Splits the line at blanks outside brackets; every `=` there is a separate word. An operator joins
// the words beside it, so "depth=4 * 8" has one value.
#include "bitstreams/compiler/dataflow/hls_pragma.h"
#include "common/lower_case.h"

#include <algorithm>
#include <cctype>

namespace tandem::xclbin {
namespace {

bool is_blank(char c) { return c == '\\' || std::isspace(static_cast<unsigned char>(c)) != 0; }

// The index of the bracket that closes the one at `open`; the line's size without one.
size_t closing_bracket(std::string_view line, size_t open) {
  int depth = 0;
  for (size_t at = open; at < line.size(); ++at) {
    if (std::string_view("([{").find(line[at]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}").find(line[at]) != std::string_view::npos && --depth == 0) return at;
  }
  return line.size();
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  bool inside = false;
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '=') {
      words.emplace_back("=");
      inside = false;
      continue;
    }
    if (is_blank(c)) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    const bool opens = c == '(' || c == '[' || c == '{';
    const size_t close = opens ? closing_bracket(line, at) : line.size();
    if (close == line.size()) {
      words.back() += c;
      continue;
    }
    words.back() += line.substr(at, close + 1 - at);
    at = close;
  }
  return words;
}

bool is_operator(char c) { return std::string_view("+-*/%").find(c) != std::string_view::npos; }

// Returns the value that begins at `at`, and moves `at` to its end.
std::string joined_value(const std::vector<std::string>& words, size_t& at) {
  std::string value = words[at++];
  while (at < words.size() && words[at] != "=" &&
         (is_operator(value.back()) || is_operator(words[at].front()))) {
    value += words[at++];
  }
  return value;
}

}  // namespace

std::string HlsPragma::value(std::string_view key) const {
  for (const auto& [name, value] : options) {
    if (name == key) return value;
  }
  return {};
}

HlsPragma parse_hls_pragma(std::string_view line) {
  HlsPragma pragma;
  if (line.empty() || line[0] != '#') return pragma;
  std::vector<std::string> words = words_of(line.substr(1));
  if (words.size() < 3 || words[0] != "pragma" || lower_case(words[1]) != "hls") return pragma;
  pragma.kind = lower_case(words[2]);
  for (size_t at = 3; at < words.size();) {
    const std::string key = lower_case(words[at++]);
    if (key == "=") continue;
    const bool has_value = at + 1 < words.size() && words[at] == "=";
    if (has_value) ++at;
    pragma.options.emplace_back(key, has_value ? joined_value(words, at) : std::string());
  }
  return pragma;
}

}  // namespace tandem::xclbin
