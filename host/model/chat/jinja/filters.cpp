// SPDX-License-Identifier: Apache-2.0
//
// The filters of numbers and of any value; the other tables are in list_filters and text_filters.
#include "model/chat/jinja/filters.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/chat/jinja/filter_table.h"
#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {

std::int64_t integer_or(const Arguments& arguments, std::size_t index, const char* name,
                        std::int64_t fallback) {
  const Value* value = arguments.find(index, name);
  return value == nullptr || value->is_none() ? fallback : value->integer();
}

bool truth_of(const Arguments& arguments, std::size_t index, const char* name) {
  const Value* value = arguments.find(index, name);
  return value != nullptr && value->truthy();
}

namespace {

Value default_of(const Value& input, const Arguments& arguments, Budget&) {
  const bool is_missing =
      input.is_undefined() || (truth_of(arguments, 1, "boolean") && !input.truthy());
  if (!is_missing) return input;
  const Value* fallback = arguments.find(0, "default_value");
  return fallback != nullptr ? *fallback : Value::string("");
}

Value length(const Value& input, const Arguments&, Budget&) {
  std::size_t size = 0;
  if (input.is_string()) {
    size = num_characters(input.text());
  } else if (input.is_list()) {
    if (input.list_kind() == ListKind::kGenerator) {
      throw Failure("length: a generator has none; make it a list first");
    }
    size = input.items().size();
  } else if (!input.is_undefined()) {
    size = input.pairs().size();
  }
  return Value::integer(static_cast<std::int64_t>(size));
}

// Python's float() of a text; nothing when it is no number.
std::optional<double> parse_number(const std::string& raw) {
  std::string text = strip(raw, {}, Side::kBoth);
  std::erase(text, '_');
  if (text.starts_with("+")) text.erase(0, 1);
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// Python's int(text, base); base 0: the prefix 0x, 0o or 0b says it.
std::optional<std::int64_t> parse_integer(const std::string& raw, std::int64_t base) {
  std::string text = lower(strip(raw, {}, Side::kBoth));
  const bool negative = text.starts_with("-");
  if (negative || text.starts_with("+")) text.erase(0, 1);
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) return std::nullopt;
  for (const auto& [prefix, meant] : {std::pair{"0x", 16}, {"0o", 8}, {"0b", 2}}) {
    if (text.starts_with(prefix) && (base == 0 || base == meant)) {
      text.erase(0, 2);
      base = meant;
    }
  }
  if (base == 0) base = 10;
  if (base < 2 || base > 36) return std::nullopt;
  std::erase(text, '_');
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value, static_cast<int>(base));
  if (text.empty() || result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return negative ? -value : value;
}

Value to_real(const Value& input, const Arguments& arguments, Budget&) {
  if (input.is_undefined()) throw Failure(input.undefined_message());
  if (input.is_number()) return Value::real(input.number());
  if (input.is_string()) {
    if (const auto value = parse_number(input.text())) return Value::real(*value);
  }
  const Value* fallback = arguments.find(0, "default");
  return fallback != nullptr ? *fallback : Value::real(0.0);
}

Value to_integer(const Value& input, const Arguments& arguments, Budget&) {
  std::optional<double> real;
  if (input.is_undefined()) throw Failure(input.undefined_message());
  if (input.is_real()) real = input.number();
  if (input.is_bool() || input.is_integer()) return Value::integer(input.integer());
  if (input.is_string()) {
    const std::int64_t base = integer_or(arguments, 1, "base", 10);
    if (const auto value = parse_integer(input.text(), base)) return Value::integer(*value);
    real = parse_number(input.text());
  }
  if (real && std::fabs(*real) < 9e18) return Value::integer(static_cast<std::int64_t>(*real));
  const Value* fallback = arguments.find(0, "default");
  return fallback != nullptr ? *fallback : Value::integer(0);
}

Value absolute(const Value& input, const Arguments&, Budget&) {
  if (input.is_real()) return Value::real(std::fabs(input.number()));
  const std::int64_t value = input.integer();
  if (value == INT64_MIN) throw Failure("abs: the number is out of range");
  return Value::integer(value < 0 ? -value : value);
}

// As Python's round(): half to even, of the decimal digits that the number really has.
Value round_number(const Value& input, const Arguments& arguments, Budget&) {
  const auto digits = std::clamp<std::int64_t>(integer_or(arguments, 0, "precision", 0), -300, 300);
  const Value* given = arguments.find(1, "method");
  const std::string method = given != nullptr ? given->text() : "common";
  if (method != "common" && method != "ceil" && method != "floor") {
    throw Failure("round: the method must be common, ceil or floor");
  }
  const double scale = std::pow(10.0, static_cast<double>(digits));
  if (method != "common") {
    const double scaled = input.number() * scale;
    return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
  }
  if (!input.is_real() && digits >= 0) return Value::integer(input.integer());
  if (digits < 0) {
    const double rounded = std::nearbyint(input.number() * scale) / scale;
    return input.is_real() ? Value::real(rounded)
                           : Value::integer(static_cast<std::int64_t>(rounded));
  }
  char buffer[700];
  std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(digits), input.number());
  return Value::real(std::strtod(buffer, nullptr));
}

// Python's attribute alone: no entry of a mapping.
Value attribute(const Value& input, const Arguments& arguments, Budget&) {
  const std::string& name = arguments.require(0, "name").text();
  const bool is_entry = input.is_map() && !has_method(input, name);
  return is_entry ? Value::undefined(name) : attribute_of(input, name);
}

const Filters& other_filters() {
  static const Filters kFilters = {
      {"abs", absolute},
      {"attr", attribute},
      {"count", length},
      {"d", default_of},
      {"default", default_of},
      {"float", to_real},
      {"int", to_integer},
      {"length", length},
      {"round", round_number},
      {"safe",
       [](const Value& in, const Arguments&, Budget&) { return Value::markup(to_text(in)); }},
  };
  return kFilters;
}

// Null: there is none of this name.
Filter find_filter(const std::string& name) {
  for (const Filters* filters : {&list_filters(), &text_filters(), &other_filters()}) {
    if (const auto found = filters->find(name); found != filters->end()) return found->second;
  }
  return nullptr;
}

// Filters that do not read the elements are not charged for them.
bool only_looks(const std::string& name, const Value& input) {
  if (name == "length" || name == "count") return !input.is_string();
  return name == "default" || name == "d" || name == "first" || name == "last";
}

bool keeps_markup(const std::string& name) {
  for (const char* keeps : {"capitalize", "center", "indent", "lower", "string", "trim", "upper"}) {
    if (name == keeps) return true;
  }
  return false;
}

}  // namespace

bool is_known_filter(const std::string& name) { return find_filter(name) != nullptr; }

Value apply_filter(const std::string& name, const Value& input, const Arguments& arguments,
                   Budget& budget) {
  const Filter call = find_filter(name);
  if (call == nullptr) throw Failure("unknown filter '" + name.substr(0, 80) + "'");
  const bool walks = !only_looks(name, input);
  budget.spend(walks ? input.weight() : 1);
  Value result = call(input, arguments, budget);
  if (input.is_markup() && keeps_markup(name)) result = Value::markup(result.text());
  budget.spend(walks ? result.weight() : 1);
  return result;
}

}  // namespace tandem::model::jinja
