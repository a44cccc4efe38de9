// SPDX-License-Identifier: Apache-2.0
//
// number_of: the number that a whole text spells.
//
// Returns nothing for an empty text, blanks, a sign '+', letters after the number, a number that
// does not fit, an infinity or a NaN. Pure; threads: any.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace tandem {

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || rest != end) return std::nullopt;
  if (!(value - value == Number{})) return std::nullopt;
  return value;
}

}  // namespace tandem
