// SPDX-License-Identifier: Apache-2.0
//
// Splits and trims lines and option texts. All results point into the given text.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace tandem {

// At least one part; an empty text has one empty part.
inline std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

// The parts before and after the first `separator`; the second part is empty if there is none.
inline std::pair<std::string_view, std::string_view> cut_at(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

// The text without the characters of `blank` at both ends.
inline std::string_view trimmed(std::string_view text, std::string_view blank = " \t\r") {
  const std::size_t begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

// "[serve] no port" and "[json.exception.101] no value": what follows the tag; else the whole text.
inline std::string_view without_tag(std::string_view text) {
  const std::size_t end = text.starts_with('[') ? text.find("] ") : std::string_view::npos;
  return end == std::string_view::npos ? text : text.substr(end + 2);
}

}  // namespace tandem
