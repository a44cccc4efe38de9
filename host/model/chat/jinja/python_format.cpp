// SPDX-License-Identifier: Apache-2.0
//
// The two formatting languages; layout is in format_spec.cpp.
#include "model/chat/jinja/python_format.h"

#include <cmath>
#include <utility>

#include "model/chat/jinja/format_spec.h"
#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

void append_bounded(std::string& out, std::string_view text) {
  if (out.size() + text.size() > Value::kMaxText) throw Failure("a text grows too large");
  out += text;
}

std::int64_t truncated(const Value& value) {
  if (!value.is_real()) return value.integer();
  if (!(std::abs(value.number()) < 9e18)) throw Failure("an integer is out of range");
  return static_cast<std::int64_t>(value.number());
}

class PercentFormatter {
 public:
  PercentFormatter(std::string_view text, const Value& values) : rest_(text), values_(values) {}

  std::string run() {
    std::string out;
    while (!rest_.empty()) {
      const std::size_t percent = std::min(rest_.find('%'), rest_.size());
      append_bounded(out, rest_.substr(0, percent));
      rest_.remove_prefix(percent);
      if (!rest_.empty()) append_bounded(out, conversion());
    }
    const bool may_be_left = values_.is_map() || is_plain_list();
    if (!may_be_left && used_ < num_values()) throw Failure("'%' leaves values unused");
    return out;
  }

 private:
  bool is_several() const {
    return values_.is_list() &&
           (values_.list_kind() == ListKind::kTuple || values_.list_kind() == ListKind::kGroup);
  }
  bool is_plain_list() const { return values_.is_list() && !is_several(); }
  std::size_t num_values() const { return is_several() ? values_.items().size() : 1; }

  const Value& next() {
    if (used_ >= num_values()) throw Failure("'%' lacks a value");
    ++used_;
    return is_several() ? values_.items()[used_ - 1] : values_;
  }

  int number(int none) {
    if (!rest_.starts_with('*')) return take_number(rest_, none);
    rest_.remove_prefix(1);
    const std::int64_t value = next().integer();
    if (value < 0 || value > FormatSpec::kMaxSize) throw Failure("a width is out of range");
    return static_cast<int>(value);
  }

  const Value* named() {
    if (!rest_.starts_with('(')) return nullptr;
    const std::size_t end = rest_.find(')');
    if (end == std::string_view::npos) throw Failure("'%(' lacks its ')'");
    const Value* value = values_.find(std::string(rest_.substr(1, end - 1)));
    if (value == nullptr) throw Failure("'%' does not find the name in its mapping");
    rest_.remove_prefix(end + 1);
    return value;
  }

  std::string conversion() {
    rest_.remove_prefix(1);
    const Value* value = named();
    FormatSpec spec;
    bool zero = false;
    for (; !rest_.empty(); rest_.remove_prefix(1)) {
      const char flag = rest_[0];
      if (flag == '-') {
        spec.align = '<';
      } else if (flag == '+' || (flag == ' ' && spec.sign != '+')) {
        spec.sign = flag;
      } else if (flag == '#') {
        spec.alternate = true;
      } else if (flag == '0') {
        zero = true;
      } else if (flag != ' ') {
        break;
      }
    }
    spec.width = number(0);
    if (rest_.starts_with('.')) {
      rest_.remove_prefix(1);
      spec.precision = number(0);
    }
    while (!rest_.empty() && std::string_view("hlL").find(rest_[0]) != std::string_view::npos) {
      rest_.remove_prefix(1);
    }
    if (rest_.empty()) throw Failure("'%' lacks its conversion");
    const char type = rest_[0];
    rest_.remove_prefix(1);
    if (type == '%') return "%";
    return converted(type, value != nullptr ? *value : next(), spec, zero);
  }

  static std::string converted(char type, const Value& value, FormatSpec spec, bool zero) {
    if (spec.align == 0) spec.align = '>';
    if (type == 's' || type == 'r' || type == 'a') {
      spec.sign = '-';
      spec.alternate = false;
      return format_value(Value::string(type == 's' ? to_text(value) : to_repr(value)), spec);
    }
    if (zero && spec.align == '>') {
      spec.align = '=';
      spec.fill = "0";
    }
    if (type == 'c') {
      return format_value(value.is_string() ? value : Value::string(character_of(value)), spec);
    }
    if (!value.is_number()) throw Failure(std::string("'%") + type + "' takes a number");
    if (std::string_view("eEfFgG").find(type) != std::string_view::npos) {
      spec.type = type;
      return format_value(Value::real(value.number()), spec);
    }
    if (std::string_view("diuxXo").find(type) == std::string_view::npos) {
      throw Failure(std::string("'%") + type + "' is not a conversion");
    }
    if (type == 'x' || type == 'X' || type == 'o') spec.type = type;
    const Value whole = Value::integer(truncated(value));
    const int digits = std::exchange(spec.precision, -1);
    if (digits < 0) return format_value(whole, spec);
    FormatSpec inner = spec;  // the precision of an integer is its least number of digits
    inner.fill = "0";
    inner.align = '=';
    inner.width = digits + (whole.integer() < 0 || spec.sign != '-' ? 1 : 0);
    FormatSpec outer;
    outer.width = spec.width;
    outer.align = spec.align == '=' ? '>' : spec.align;
    return format_value(Value::string(format_value(whole, inner)), outer);
  }

  static std::string character_of(const Value& value) {
    const std::int64_t code = value.integer();
    if (code < 0 || code > 0x10ffff) throw Failure("'%c' takes a character");
    return character(static_cast<std::uint32_t>(code));
  }

  std::string_view rest_;
  const Value& values_;
  std::size_t used_ = 0;
};

class BraceFormatter {
 public:
  BraceFormatter(const Arguments& arguments, Budget& budget)
      : arguments_(arguments), budget_(budget) {}

  std::string run(std::string_view text, int depth) {
    if (depth > 2) throw Failure("format: braces are nested too deep");
    std::string out;
    while (!text.empty()) {
      budget_.spend(1);
      const std::size_t brace = std::min(text.find_first_of("{}"), text.size());
      append_bounded(out, text.substr(0, brace));
      text.remove_prefix(brace);
      if (text.empty()) break;
      if (text.size() > 1 && text[1] == text[0]) {
        append_bounded(out, text.substr(0, 1));
        text.remove_prefix(2);
      } else if (text[0] == '}') {
        throw Failure("format: a '}' stands alone");
      } else {
        const std::size_t end = closing(text);
        append_bounded(out, field(text.substr(1, end - 1), depth));
        text.remove_prefix(end + 1);
      }
    }
    return out;
  }

 private:
  static std::size_t closing(std::string_view text) {
    int open = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '{') ++open;
      if (text[at] == '}' && --open == 0) return at;
    }
    throw Failure("format: a '{' is never closed");
  }

  std::string field(std::string_view text, int depth) {
    std::size_t name_end = 0;
    for (bool in_bracket = false; name_end < text.size(); ++name_end) {
      const char c = text[name_end];
      if (!in_bracket && (c == '!' || c == ':')) break;
      in_bracket = c == '[' || (in_bracket && c != ']');
    }
    Value value = value_of(text.substr(0, name_end));
    text.remove_prefix(name_end);
    if (text.starts_with('!')) {
      const char conversion = text.size() > 1 ? text[1] : ' ';
      if (conversion != 's' && conversion != 'r') throw Failure("format: an unknown conversion");
      value = Value::string(conversion == 's' ? to_text(value) : to_repr(value));
      text.remove_prefix(2);
      if (!text.empty() && text[0] != ':') throw Failure("format: expected ':'");
    }
    if (!text.empty()) text.remove_prefix(1);
    return format_value(value, parse_format_spec(run(text, depth + 1)));
  }

  // "0", "name", "", then ".attribute" and "[key]".
  Value value_of(std::string_view path) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    Value value = argument(path.substr(0, end));
    path.remove_prefix(end);
    while (!path.empty()) {
      budget_.spend(1);
      if (path[0] == '.') {
        const std::size_t next = std::min(path.find_first_of(".[", 1), path.size());
        value = attribute_of(value, std::string(path.substr(1, next - 1)));
        path.remove_prefix(next);
      } else {
        const std::size_t close = path.find(']');
        if (close == std::string_view::npos) throw Failure("format: a '[' is never closed");
        std::string_view key = path.substr(1, close - 1);
        const std::string name(key);
        const int index = take_number(key, -1);
        value =
            item_of(value, index >= 0 && key.empty() ? Value::integer(index) : Value::string(name));
        path.remove_prefix(close + 1);
      }
    }
    return value;
  }

  const Value& argument(std::string_view name) {
    std::string_view digits = name;
    int index = take_number(digits, -1);
    if (!name.empty() && (index < 0 || !digits.empty())) {
      const Value* named = arguments_.named_value(name);
      if (named == nullptr) throw Failure("format: there is no '" + std::string(name) + "'");
      return *named;
    }
    if (name.empty()) index = next_++;
    if (static_cast<std::size_t>(index) >= arguments_.positional.size()) {
      throw Failure("format: there is no argument " + std::to_string(index));
    }
    return arguments_.positional[static_cast<std::size_t>(index)];
  }

  const Arguments& arguments_;
  Budget& budget_;
  int next_ = 0;
};

}  // namespace

std::string format_percent(std::string_view text, const Value& values) {
  return PercentFormatter(text, values).run();
}

Value with_escaped_texts(const Value& value) {
  if (value.is_string()) return Value::markup(escaped(value));
  if (value.is_list()) {
    List items;
    for (const Value& item : value.items()) items.push_back(with_escaped_texts(item));
    return Value::list(std::move(items), value.list_kind());
  }
  if (!value.is_map()) return value;
  Pairs pairs;
  for (const auto& [key, item] : value.pairs()) pairs.emplace_back(key, with_escaped_texts(item));
  return Value::map_of(std::move(pairs));
}

Value percent(const Value& text, const Value& values) {
  if (!text.is_markup()) return Value::string(format_percent(to_text(text), values));
  return Value::markup(format_percent(text.text(), with_escaped_texts(values)));
}

std::string format_braces(std::string_view text, const Arguments& arguments, Budget& budget) {
  return BraceFormatter(arguments, budget).run(text, 0);
}

}  // namespace tandem::model::jinja
