// SPDX-License-Identifier: Apache-2.0
//
// String operations of the template language.
#include "model/chat/jinja/text.h"

#include <locale.h>
#include <wctype.h>

#include <algorithm>

#include "common/utf8.h"

namespace tandem::model::jinja {

std::uint32_t code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i]));
  };
  switch (character.size()) {
    case 2:
      return (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f);
    case 3:
      return (byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    case 4:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 |
             (byte(3) & 0x3f);
    default:
      return byte(0);
  }
}

namespace {

void append_code_point(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

locale_t unicode_locale() {
  static const locale_t kLocale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return kLocale;
}

// Bytes of the first and of the last character; 1 where they are not UTF-8.
std::size_t first_length(std::string_view text) {
  const Utf8Sequence sequence = next_utf8(text);
  return sequence.valid ? sequence.length : 1;
}

std::size_t last_length(std::string_view text) {
  for (std::size_t length = 2; length <= 4 && length <= text.size(); ++length) {
    const Utf8Sequence sequence = next_utf8(text.substr(text.size() - length));
    if (sequence.valid && sequence.length == length) return length;
  }
  return 1;
}

void check_parts(const List& parts) {
  if (parts.size() > 1'000'000) throw Failure("split: too many parts");
}

enum class Case { kUpper, kLower };

void append_cased(std::string& out, std::string_view character, Case wanted) {
  const std::uint32_t code = code_point(character);
  if (code < 0x80 || unicode_locale() == nullptr) {
    const bool changes =
        wanted == Case::kUpper ? code >= 'a' && code <= 'z' : code >= 'A' && code <= 'Z';
    out += changes ? static_cast<char>(code ^ 0x20) : character[0];
    if (code >= 0x80) out += character.substr(1);
    return;
  }
  if (character.size() == 1) {  // a byte that is not UTF-8
    out += character;
    return;
  }
  if (code == 0xdf && wanted == Case::kUpper) {  // sharp s has no single capital
    out += "SS";
    return;
  }
  const auto wide = static_cast<wint_t>(code);
  append_code_point(out, wanted == Case::kUpper ? ::towupper_l(wide, unicode_locale())
                                                : ::towlower_l(wide, unicode_locale()));
}

std::string cased(std::string_view text, Case wanted) {
  std::string out;
  for (const std::string_view character : characters(text)) append_cased(out, character, wanted);
  return out;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = static_cast<char>(c | 0x20);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

// `digits` hex digits at `at`; false when there are fewer.
bool read_hex(std::string_view text, std::size_t at, std::size_t digits, std::uint32_t& code) {
  if (at + digits > text.size()) return false;
  code = 0;
  for (std::size_t i = at; i < at + digits; ++i) {
    const int digit = hex_value(text[i]);
    if (digit < 0) return false;
    code = code << 4 | static_cast<std::uint32_t>(digit);
  }
  return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

}  // namespace

bool is_letter(std::string_view character) {
  const std::uint32_t code = code_point(character);
  if (code < 0x80) return (code | 0x20) >= 'a' && (code | 0x20) <= 'z';
  return character.size() > 1 && unicode_locale() != nullptr &&
         ::iswalpha_l(static_cast<wint_t>(code), unicode_locale()) != 0;
}

bool is_space(std::string_view character) {
  const std::uint32_t code = code_point(character);
  if (code < 0x80) return code == ' ' || (code >= 9 && code <= 13) || (code >= 28 && code <= 31);
  return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
         code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

std::string character(std::uint32_t code_point) {
  std::string out;
  append_code_point(out, code_point);
  return out;
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    all.push_back(text.substr(0, first_length(text)));
    text.remove_prefix(all.back().size());
  }
  return all;
}

std::size_t num_characters(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(first_length(text));
  return count;
}

std::string upper(std::string_view text) { return cased(text, Case::kUpper); }
std::string lower(std::string_view text) { return cased(text, Case::kLower); }

std::string title(std::string_view text) {
  std::string out;
  bool in_word = false;
  for (const std::string_view character : characters(text)) {
    append_cased(out, character, in_word ? Case::kLower : Case::kUpper);
    in_word = is_letter(character);
  }
  return out;
}

std::string capitalize_words(std::string_view text) {
  std::string out;
  bool in_word = false;
  for (const std::string_view character : characters(text)) {
    append_cased(out, character, in_word ? Case::kLower : Case::kUpper);
    in_word =
        !is_space(character) && std::string_view("-({[<").find(character) == std::string::npos;
  }
  return out;
}

std::string capitalize(std::string_view text) {
  std::string out;
  bool first = true;
  for (const std::string_view character : characters(text)) {
    append_cased(out, character, first ? Case::kUpper : Case::kLower);
    first = false;
  }
  return out;
}

std::string strip(std::string_view text, std::string_view set, Side side) {
  const std::vector<std::string_view> stripped = characters(set);
  const auto goes = [&](std::string_view character) {
    if (set.empty()) return is_space(character);
    return std::find(stripped.begin(), stripped.end(), character) != stripped.end();
  };
  while (side != Side::kRight && !text.empty()) {
    const std::size_t length = first_length(text);
    if (!goes(text.substr(0, length))) break;
    text.remove_prefix(length);
  }
  while (side != Side::kLeft && !text.empty()) {
    const std::size_t length = last_length(text);
    if (!goes(text.substr(text.size() - length))) break;
    text.remove_suffix(length);
  }
  return std::string(text);
}

std::string replace(std::string_view text, std::string_view from, std::string_view to,
                    std::int64_t count) {
  std::string out;
  const auto append = [&](std::string_view piece) {
    if (out.size() + piece.size() > Value::kMaxText) throw Failure("a text grows too large");
    out += piece;
  };
  if (from.empty()) {  // between all characters and at both ends
    for (const std::string_view character : characters(text)) {
      if (count != 0) append(to);
      if (count > 0) --count;
      append(character);
    }
    if (count != 0) append(to);
    return out;
  }
  std::size_t at = 0;
  while (count != 0) {
    const std::size_t found = text.find(from, at);
    if (found == std::string_view::npos) break;
    append(text.substr(at, found - at));
    append(to);
    at = found + from.size();
    if (count > 0) --count;
  }
  append(text.substr(at));
  return out;
}

List split(std::string_view text, std::int64_t max_splits) {
  List parts;
  const std::vector<std::string_view> all = characters(text);
  std::size_t at = 0;
  while (true) {
    check_parts(parts);
    while (at < all.size() && is_space(all[at])) ++at;
    if (at == all.size()) return parts;
    const auto begin = static_cast<std::size_t>(all[at].data() - text.data());
    if (max_splits >= 0 && static_cast<std::int64_t>(parts.size()) == max_splits) {
      parts.push_back(Value::string(std::string(text.substr(begin))));
      return parts;
    }
    while (at < all.size() && !is_space(all[at])) ++at;
    const std::size_t end =
        at < all.size() ? static_cast<std::size_t>(all[at].data() - text.data()) : text.size();
    parts.push_back(Value::string(std::string(text.substr(begin, end - begin))));
  }
}

List split(std::string_view text, std::string_view separator, std::int64_t max_splits) {
  if (separator.empty()) throw Failure("split: the separator is empty");
  List parts;
  while (max_splits < 0 || static_cast<std::int64_t>(parts.size()) < max_splits) {
    const std::size_t found = text.find(separator);
    if (found == std::string_view::npos) break;
    check_parts(parts);
    parts.push_back(Value::string(std::string(text.substr(0, found))));
    text.remove_prefix(found + separator.size());
  }
  parts.push_back(Value::string(std::string(text)));
  return parts;
}

List split_lines(std::string_view text, bool keep_ends) {
  List lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = first_length(text.substr(at));
    const std::uint32_t code = code_point(text.substr(at, length));
    const bool ends = (code >= 10 && code <= 13) || (code >= 28 && code <= 30) || code == 0x85 ||
                      code == 0x2028 || code == 0x2029;
    const std::size_t line_end = at;
    at += length;
    if (!ends) continue;
    if (code == '\r' && at < text.size() && text[at] == '\n') ++at;
    check_parts(lines);
    const std::size_t shown = keep_ends ? at : line_end;
    lines.push_back(Value::string(std::string(text.substr(begin, shown - begin))));
    begin = at;
  }
  if (begin < text.size()) lines.push_back(Value::string(std::string(text.substr(begin))));
  return lines;
}

std::string align(std::string_view text, std::int64_t width, const std::string& fill, int side) {
  const auto size = static_cast<std::int64_t>(num_characters(text));
  if (width <= size) return std::string(text);
  if (width > static_cast<std::int64_t>(Value::kMaxText)) throw Failure("a text grows too large");
  const std::int64_t missing = width - size;
  // Python's own rule for an odd number of fills.
  const std::int64_t both = missing / 2 + (missing & width & 1);
  const std::int64_t before = side < 0 ? 0 : side > 0 ? missing : both;
  std::string out;
  for (std::int64_t i = 0; i < before; ++i) out += fill;
  out += text;
  for (std::int64_t i = before; i < missing; ++i) out += fill;
  return out;
}

std::string unescape_literal(std::string_view text) {
  constexpr std::string_view kNames = "nrtabfv\\'\"";
  constexpr std::string_view kValues = "\n\r\t\a\b\f\v\\'\"";
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      out += text[at];
      continue;
    }
    const char name = text[++at];
    const std::size_t digits = name == 'x' ? 2 : name == 'u' ? 4 : name == 'U' ? 8 : 0;
    std::uint32_t code = 0;
    if (const std::size_t known = kNames.find(name); known != std::string_view::npos) {
      out += kValues[known];
    } else if (digits > 0 && read_hex(text, at + 1, digits, code)) {
      append_code_point(out, code);
      at += digits;
    } else if (name >= '0' && name <= '7') {
      std::uint32_t octal = 0;
      const std::size_t first = at;
      for (; at < text.size() && at < first + 3 && text[at] >= '0' && text[at] <= '7'; ++at) {
        octal = octal * 8 + static_cast<std::uint32_t>(text[at] - '0');
      }
      --at;
      append_code_point(out, octal);
    } else if (name != '\n') {  // an escaped newline vanishes; unknown escapes stay as they are
      out += '\\';
      out += name;
    }
  }
  return out;
}

}  // namespace tandem::model::jinja
