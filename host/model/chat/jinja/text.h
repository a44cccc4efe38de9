// SPDX-License-Identifier: Apache-2.0
//
// Text as templates see it: Python's string operations on code points, repr(), JSON.
//
// Letter case follows the simple mappings of the C.UTF-8 locale. Each invalid byte counts as a
// character.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/chat/jinja/value.h"

namespace tandem::model::jinja {

std::size_t num_characters(std::string_view text);
std::vector<std::string_view> characters(std::string_view text);  // code point by code point

// Whether `character`, one code point, is a letter, or white space.
bool is_letter(std::string_view character);
bool is_space(std::string_view character);
std::uint32_t code_point(std::string_view character);  // of an invalid byte: its value
std::string character(std::uint32_t code_point);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string title(std::string_view text);             // a word is a run of letters
std::string capitalize_words(std::string_view text);  // a word ends at white space or -({[<
std::string capitalize(std::string_view text);

enum class Side { kLeft, kRight, kBoth };
// Removes the characters of `set` from the ends, white space when it is empty.
std::string strip(std::string_view text, std::string_view set, Side side);

// `count` < 0: every occurrence. Failure when the result would be too large.
std::string replace(std::string_view text, std::string_view from, std::string_view to,
                    std::int64_t count);
List split(std::string_view text, std::int64_t max_splits);  // at runs of white space
List split(std::string_view text, std::string_view separator, std::int64_t max_splits);
List split_lines(std::string_view text, bool keep_ends);
// Pads to `width` characters with `fill`: on the right if side < 0, on the left if side > 0, on
// both sides if 0.
std::string align(std::string_view text, std::int64_t width, const std::string& fill, int side);

std::string unescape_literal(std::string_view text);  // the inside of a quoted literal

std::string format_real(double value);    // as Python's repr
std::string to_text(const Value& value);  // as Python's str
std::string to_repr(const Value& value);  // as Python's repr

struct JsonStyle {
  bool ensure_ascii = false;  // noncharacters U+FDD0..U+FDEF stay: a prompt may be marked by one
  std::string indent = {};    // of one level
  bool has_indent = false;
  std::string item_separator = ", ", key_separator = ": ";
  bool sort_keys = false;
};
std::string to_json(const Value& value, const JsonStyle& style);  // as Python's json.dumps

}  // namespace tandem::model::jinja
