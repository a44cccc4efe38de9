// SPDX-License-Identifier: Apache-2.0
//
// Numbers and parts of the small languages in which devices and loads are written.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::simulation {

// All of `text`, and nothing else, as a finite number.
template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || rest != end) return std::nullopt;
  if (!(value - value == Number{})) return std::nullopt;
  return value;
}

inline std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

// Before and behind the first `separator`; behind is empty where there is none.
inline std::pair<std::string_view, std::string_view> cut_at(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace tandem::simulation
