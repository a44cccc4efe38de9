// SPDX-License-Identifier: Apache-2.0
//
// Values as text: Python's str and repr, and JSON (declared in text.h).
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

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kNames = "\"\\nrtbf";
  constexpr std::string_view kValues = "\"\\\n\r\t\b\f";
  std::string escaped = "\"";
  for (const char c : text) {
    if (const std::size_t known = kValues.find(c); known != std::string_view::npos) {
      escaped += '\\';
      escaped += kNames[known];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      append_hex_escape(escaped, "\\u", static_cast<unsigned char>(c), 4);
    } else {
      escaped += c;
    }
  }
  append(out, escaped + '"');
}

void append_value(std::string& out, const Value& value);

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

void append_value(std::string& out, const Value& value) {
  if (value.is_string()) {
    append_repr(out, value.text());
  } else if (value.is_list()) {
    append_sequence(out, '[', value.items(), ']',
                    [&](const Value& item) { append_value(out, item); });
  } else if (value.is_map()) {
    append_sequence(out, '{', value.entries(), '}', [&](const auto& entry) {
      append_repr(out, entry.first);
      append(out, ": ");
      append_value(out, entry.second);
    });
  } else if (value.is_undefined()) {
    append(out, "Undefined");
  } else {
    append(out, to_text(value));
  }
}

class JsonWriter {
 public:
  explicit JsonWriter(int indent) : indent_(indent) {}

  std::string write(const Value& value) {
    put(value, 0);
    return std::move(out_);
  }

 private:
  void new_line(int level) {
    if (indent_ < 0) return;
    append(out_, "\n");
    append(out_, std::string(static_cast<std::size_t>(indent_ * level), ' '));
  }

  void put(const Value& value, int level) {
    if (value.is_string()) {
      append_json_string(out_, value.text());
    } else if (value.is_list()) {
      put_all(value.items(), "[]", level, [&](const Value& item) { put(item, level + 1); });
    } else if (value.is_map()) {
      put_all(value.entries(), "{}", level, [&](const auto& entry) {
        append_json_string(out_, entry.first);
        append(out_, ": ");
        put(entry.second, level + 1);
      });
    } else if (value.is_none()) {
      append(out_, "null");
    } else if (value.is_bool()) {
      append(out_, value.truthy() ? "true" : "false");
    } else if (value.is_number()) {
      append(out_, to_text(value));
    } else {
      throw Failure(std::string("tojson: ") + value.type_name() + " has no JSON form");
    }
  }

  template <typename T, typename Put>
  void put_all(const T& items, const char* brackets, int level, const Put& put_item) {
    out_ += brackets[0];
    bool first = true;
    for (const auto& item : items) {
      if (!first) append(out_, indent_ < 0 ? ", " : ",");
      first = false;
      new_line(level + 1);
      put_item(item);
    }
    if (!items.empty()) new_line(level);
    out_ += brackets[1];
  }

  int indent_;
  std::string out_;
};

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

std::string to_json(const Value& value, int indent) {
  return JsonWriter(std::clamp(indent, -1, 16)).write(value);
}

}  // namespace tandem::model::jinja
