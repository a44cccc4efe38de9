// SPDX-License-Identifier: Apache-2.0
//
// Splits the line at blanks; every `=` is a separate word.
#include "bitstreams/compiler/dataflow/hls_pragma.h"
#include "common/lower_case.h"

#include <cctype>

namespace tandem::xclbin {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : line) {
    if (c == '=') {
      words.emplace_back("=");
      inside = false;
    } else if (c == '\\' || std::isspace(static_cast<unsigned char>(c))) {
      inside = false;
    } else {
      if (!inside) words.emplace_back();
      words.back() += c;
      inside = true;
    }
  }
  return words;
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
  for (size_t at = 3; at < words.size(); ++at) {
    if (words[at] == "=") continue;
    const bool has_value = at + 2 < words.size() && words[at + 1] == "=";
    pragma.options.emplace_back(lower_case(words[at]), has_value ? words[at + 2] : std::string());
    if (has_value) at += 2;
  }
  return pragma;
}

}  // namespace tandem::xclbin
