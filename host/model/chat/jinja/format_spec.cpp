// SPDX-License-Identifier: Apache-2.0
//
// Formats numbers and texts.
#include "model/chat/jinja/format_spec.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

bool is_align(std::string_view character) {
  return character.size() == 1 && std::string_view("<>^=").find(character) != std::string::npos;
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

// `prefix` (a sign, 0x) stays in front of the filling when the alignment is '='.
std::string padded(const std::string& prefix, const std::string& body, const FormatSpec& spec,
                   char suitable) {
  const std::size_t size = num_characters(prefix) + num_characters(body);
  const auto width = static_cast<std::size_t>(spec.width);
  if (size >= width) return prefix + body;
  const std::size_t missing = width - size;
  switch (spec.align != 0 ? spec.align : suitable) {
    case '<':
      return prefix + body + repeated(spec.fill, missing);
    case '^':
      return repeated(spec.fill, missing / 2) + prefix + body +
             repeated(spec.fill, missing - missing / 2);
    case '=':
      return prefix + repeated(spec.fill, missing) + body;
    default:
      return repeated(spec.fill, missing) + prefix + body;
  }
}

std::string grouped(const std::string& digits, char separator, std::size_t every) {
  if (separator == 0) return digits;
  const std::size_t whole =
      std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  std::string out;
  for (std::size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % every == 0) out += separator;
    out += digits[i];
  }
  return out + digits.substr(whole);
}

std::string sign_of(bool negative, char sign) {
  if (negative) return "-";
  return sign == '-' ? "" : std::string(1, sign);
}

std::string digits_in_base(std::uint64_t value, unsigned base, bool capitals) {
  const char* const names = capitals ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string digits;
  do {
    digits.insert(digits.begin(), names[value % base]);
    value /= base;
  } while (value > 0);
  return digits;
}

std::string format_integer(std::int64_t value, const FormatSpec& spec) {
  if (spec.precision >= 0) throw Failure("an integer takes no precision");
  const char kind = static_cast<char>(std::tolower(spec.type));
  const unsigned base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
  const auto bits = static_cast<std::uint64_t>(value);
  const std::string digits = digits_in_base(value < 0 ? 0 - bits : bits, base, spec.type == 'X');
  std::string prefix = sign_of(value < 0, spec.sign);
  if (spec.alternate && base != 10) prefix += std::string("0") + spec.type;
  return padded(prefix, grouped(digits, spec.grouping, base == 10 ? 3 : 4), spec, '>');
}

std::string printed(double value, const FormatSpec& spec, char type, int precision) {
  const std::string form = std::string("%") + (spec.alternate ? "#" : "") + ".*" + type;
  std::vector<char> buffer(static_cast<std::size_t>(precision) + 400);
  const int length = std::snprintf(buffer.data(), buffer.size(), form.c_str(), precision, value);
  return std::string(buffer.data(), static_cast<std::size_t>(length));
}

std::string format_real_as(double value, const FormatSpec& spec) {
  const double size = std::fabs(value);
  std::string digits;
  if (!std::isfinite(value)) {
    digits = std::isnan(value) ? "nan" : "inf";
    if (std::isupper(static_cast<unsigned char>(spec.type)) != 0) digits = upper(digits);
  } else if (spec.type == 0 && spec.precision < 0) {
    digits = format_real(size);
  } else if (spec.type == 0) {
    digits = printed(size, spec, 'g', std::max(spec.precision, 1));
    if (digits.find_first_of(".en") == std::string::npos) digits += ".0";
  } else if (spec.type == '%') {
    digits = printed(size * 100, spec, 'f', spec.precision < 0 ? 6 : spec.precision) + "%";
  } else {
    digits = printed(size, spec, spec.type == 'n' ? 'g' : spec.type,
                     spec.precision < 0 ? 6 : spec.precision);
  }
  const bool negative = std::signbit(value) && !std::isnan(value);
  return padded(sign_of(negative, spec.sign), grouped(digits, spec.grouping, 3), spec, '>');
}

std::string format_string(const std::string& text, const FormatSpec& spec) {
  if ((spec.type != 0 && spec.type != 's') || spec.sign != '-' || spec.alternate ||
      spec.grouping != 0 || spec.align == '=') {
    throw Failure("a text cannot be formatted like this");
  }
  std::string shown = text;
  if (spec.precision >= 0) {
    const std::vector<std::string_view> all = characters(text);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < std::min(all.size(), static_cast<std::size_t>(spec.precision));
         ++i) {
      bytes += all[i].size();
    }
    shown = text.substr(0, bytes);
  }
  return padded("", shown, spec, '<');
}

}  // namespace

int take_number(std::string_view& text, int none) {
  int value = none;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    value = (value == none ? 0 : value) * 10 + (text[0] - '0');
    if (value > FormatSpec::kMaxSize) throw Failure("a width or precision is too large");
    text.remove_prefix(1);
  }
  return value;
}

FormatSpec parse_format_spec(std::string_view text) {
  FormatSpec spec;
  const auto skip = [&](char c) {
    const bool is_there = text.starts_with(c);
    if (is_there) text.remove_prefix(1);
    return is_there;
  };
  const std::vector<std::string_view> all = characters(text.substr(0, 8));
  if (all.size() > 1 && is_align(all[1])) {
    spec.fill = all[0];
    spec.align = all[1][0];
    text.remove_prefix(all[0].size() + 1);
  } else if (!all.empty() && is_align(all[0])) {
    spec.align = all[0][0];
    text.remove_prefix(1);
  }
  if (!text.empty() && std::string_view("+- ").find(text[0]) != std::string::npos) {
    spec.sign = text[0];
    text.remove_prefix(1);
  }
  spec.alternate = skip('#');
  if (skip('0') && spec.align == 0) {
    spec.fill = "0";
    spec.align = '=';
  }
  spec.width = take_number(text, 0);
  if (skip(',')) spec.grouping = ',';
  if (skip('_')) spec.grouping = '_';
  if (skip('.')) {
    spec.precision = take_number(text, -1);
    if (spec.precision < 0) throw Failure("a format lacks its precision");
  }
  if (!text.empty()) {
    spec.type = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty() || (spec.type != 0 &&
                        std::string_view("sdnbcoxXeEfFgG%").find(spec.type) == std::string::npos)) {
    throw Failure("a format is not understood");
  }
  return spec;
}

std::string format_value(const Value& value, const FormatSpec& spec) {
  const bool wants_real =
      spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) != std::string::npos;
  if (value.is_string() || (value.is_bool() && spec.type == 0)) {
    return format_string(to_text(value), spec);
  }
  if (value.is_number() && spec.type != 's') {
    return value.is_real() || wants_real ? format_real_as(value.number(), spec)
                                         : format_integer(value.integer(), spec);
  }
  if (value.is_undefined()) return format_string("", spec);
  if (value.is_number() || spec.width > 0 || spec.type != 0) {
    throw Failure(std::string("a ") + value.type_name() + " cannot be formatted like this");
  }
  return to_text(value);
}

}  // namespace tandem::model::jinja
