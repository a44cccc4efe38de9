// SPDX-License-Identifier: Apache-2.0
//
// Values as text: Python's str and repr (declared in text.h).
#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

void append(std::string& out, std::string_view text) {
  if (out.size() + text.size() > Value::kMaxText) throw Failure("a text grows too large");
  out += text;
}

void append_hex_escape(std::string& out, const char* prefix, unsigned code, int digits) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += prefix;
  for (int digit = digits - 1; digit >= 0; --digit) out += kDigits[code >> (4 * digit) & 0xf];
}

void append_repr(std::string& out, std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string escaped(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      escaped += '\\';
      escaped += c;
    } else if (c == '\n') {
      escaped += "\\n";
    } else if (c == '\r') {
      escaped += "\\r";
    } else if (c == '\t') {
      escaped += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      append_hex_escape(escaped, "\\x", byte, 2);
    } else {
      escaped += c;
    }
  }
  append(out, escaped + quote);
}

void append_value(std::string& out, const Value& value);

// As Python prints a range. Its end is known from its numbers when they follow each other.
std::string range_text(const List& items) {
  const bool by_one =
      items.size() == 1 || (items.size() > 1 && items[1].integer() - items[0].integer() == 1);
  if (!by_one) throw Failure("a range with steps cannot be printed; make it a list first");
  return "range(" + std::to_string(items.front().integer()) + ", " +
         std::to_string(items.back().integer() + 1) + ")";
}

template <typename T, typename Put>
void append_sequence(std::string& out, char open, const T& items, char close, const Put& put) {
  out += open;
  bool first = true;
  for (const auto& item : items) {
    if (!first) append(out, ", ");
    first = false;
    put(item);
  }
  out += close;
}

void append_list(std::string& out, const Value& value) {
  const auto put = [&](const Value& item) { append_value(out, item); };
  const List& items = value.items();
  switch (value.list_kind()) {
    case ListKind::kTuple:
    case ListKind::kGroup:
      append_sequence(out, '(', items, ')', put);
      if (items.size() == 1) out.insert(out.size() - 1, ",");
      return;
    case ListKind::kRange:
      append(out, range_text(items));
      return;
    case ListKind::kGenerator:
      throw Failure("a generator cannot be printed; make it a list first");
    default:
      break;
  }
  const char* name = value.list_kind() == ListKind::kItems    ? "dict_items("
                     : value.list_kind() == ListKind::kKeys   ? "dict_keys("
                     : value.list_kind() == ListKind::kValues ? "dict_values("
                                                              : "";
  append(out, name);
  append_sequence(out, '[', items, ']', put);
  if (*name != 0) append(out, ")");
}

void append_value(std::string& out, const Value& value) {
  if (value.is_string()) {
    append_repr(out, value.text());
  } else if (value.is_list()) {
    append_list(out, value);
  } else if (value.is_map()) {
    append_sequence(out, '{', value.pairs(), '}', [&](const auto& entry) {
      append_value(out, entry.first);
      append(out, ": ");
      append_value(out, entry.second);
    });
  } else if (value.is_undefined()) {
    append(out, "Undefined");
  } else {
    append(out, to_text(value));
  }
}

}  // namespace

std::string format_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto form = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, form).ptr;
  std::string text(buffer, end);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string to_text(const Value& value) {
  if (value.is_string()) return value.text();
  if (value.is_undefined()) return {};
  if (value.is_none()) return "None";
  if (value.is_bool()) return value.truthy() ? "True" : "False";
  if (value.is_integer()) return std::to_string(value.integer());
  if (value.is_real()) return format_real(value.number());
  if (value.is_list() || value.is_map()) return to_repr(value);
  throw Failure(std::string("a ") + value.type_name() + " cannot be printed");
}

std::string to_repr(const Value& value) {
  std::string out;
  append_value(out, value);
  return out;
}

}  // namespace tandem::model::jinja
