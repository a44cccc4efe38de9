// SPDX-License-Identifier: Apache-2.0
//
// Values as JSON, laid out as Python's json.dumps does (declared in text.h).
#include <algorithm>
#include <cmath>

#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}

  std::string write(const Value& value) {
    put(value, 0);
    return std::move(out_);
  }

 private:
  void append(std::string_view text) {
    if (out_.size() + text.size() > Value::kMaxText) throw Failure("a text grows too large");
    out_ += text;
  }

  void new_line(int level) {
    if (!style_.has_indent) return;
    append("\n");
    for (int i = 0; i < level; ++i) append(style_.indent);
  }

  void put(const Value& value, int level) {
    if (value.is_string()) {
      put_string(value.text());
    } else if (value.is_list()) {
      put_list(value, level);
    } else if (value.is_map()) {
      put_map(value.pairs(), level);
    } else if (value.is_none()) {
      append("null");
    } else if (value.is_bool()) {
      append(value.truthy() ? "true" : "false");
    } else if (value.is_real() && !std::isfinite(value.number())) {
      append(std::isnan(value.number()) ? "NaN" : value.number() < 0 ? "-Infinity" : "Infinity");
    } else if (value.is_number()) {
      append(to_text(value));
    } else {
      throw Failure(std::string("tojson: ") + value.type_name() + " has no JSON form");
    }
  }

  void put_list(const Value& list, int level) {
    const ListKind kind = list.list_kind();
    if (kind != ListKind::kList && kind != ListKind::kTuple && kind != ListKind::kGroup) {
      throw Failure("tojson: what is not a list has no JSON form; make it a list first");
    }
    put_all(list.items(), "[]", level, [&](const Value& item) { put(item, level + 1); });
  }

  void put_map(const Pairs& pairs, int level) {
    std::vector<std::pair<std::string, const Value*>> ordered;
    for (const auto& [key, value] : pairs) ordered.emplace_back(key_text(key), &value);
    if (style_.sort_keys) {
      std::ranges::stable_sort(ordered, {}, [](const auto& entry) { return entry.first; });
    }
    put_all(ordered, "{}", level, [&](const auto& entry) {
      put_string(entry.first);
      append(style_.key_separator);
      put(*entry.second, level + 1);
    });
  }

  static std::string key_text(const Value& key) {
    if (key.is_string()) return key.text();
    if (key.is_none()) return "null";
    if (key.is_bool()) return key.truthy() ? "true" : "false";
    if (!key.is_number()) throw Failure("tojson: a tuple cannot be the key of an object");
    return to_text(key);
  }

  template <typename T, typename Put>
  void put_all(const T& items, const char* brackets, int level, const Put& put_item) {
    append(std::string_view(brackets, 1));
    bool first = true;
    for (const auto& item : items) {
      if (!first) append(style_.item_separator);
      first = false;
      new_line(level + 1);
      put_item(item);
    }
    if (!items.empty()) new_line(level);
    append(std::string_view(brackets + 1, 1));
  }

  void put_string(std::string_view text) {
    constexpr std::string_view kNames = "\"\\nrtbf";
    constexpr std::string_view kValues = "\"\\\n\r\t\b\f";
    std::string escaped = "\"";
    for (const std::string_view c : characters(text)) {
      const std::uint32_t code = code_point(c);
      const bool is_mark = code >= 0xfdd0 && code <= 0xfdef;
      if (const auto known = c.size() == 1 ? kValues.find(c[0]) : std::string_view::npos;
          known != std::string_view::npos) {
        escaped += '\\';
        escaped += kNames[known];
      } else if (code < 0x20 || (style_.ensure_ascii && code > 0x7f && !is_mark)) {
        put_escape(escaped, code);
      } else {
        escaped += c;
      }
    }
    append(escaped + '"');
  }

  // Beyond 16 bits: two of them, as UTF-16.
  static void put_escape(std::string& out, std::uint32_t code) {
    if (code > 0xffff) {
      put_escape(out, 0xd800 + ((code - 0x10000) >> 10));
      code = 0xdc00 + ((code - 0x10000) & 0x3ff);
    }
    constexpr char kDigits[] = "0123456789abcdef";
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[code >> shift & 0xf];
  }

  const JsonStyle& style_;
  std::string out_;
};

}  // namespace

std::string to_json(const Value& value, const JsonStyle& style) {
  return JsonWriter(style).write(value);
}

}  // namespace tandem::model::jinja
