// SPDX-License-Identifier: Apache-2.0
//
// The filters, and the table of their names.
#include "model/chat/jinja/filters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

using Filter = Value (*)(const Value& input, const Arguments& arguments, Budget& budget);

std::int64_t integer_or(const Arguments& arguments, std::size_t index, const char* name,
                        std::int64_t fallback) {
  const Value* value = arguments.find(index, name);
  return value == nullptr || value->is_none() ? fallback : value->integer();
}

bool truth_of(const Arguments& arguments, std::size_t index, const char* name) {
  const Value* value = arguments.find(index, name);
  return value != nullptr && value->truthy();
}

// "a.b.0" of an item, as map(attribute=...) and its kin take it.
Value attribute_path(const Value& item, const Value& path) {
  if (!path.is_string()) return item_of(item, path);
  Value value = item;
  for (const Value& part : split(path.text(), ".", -1)) {
    const std::string& name = part.text();
    const bool is_index = !name.empty() && name.size() < 10 &&
                          name.find_first_not_of("0123456789") == std::string::npos;
    value = item_of(value, is_index ? Value::integer(std::stoi(name)) : part);
  }
  return value;
}

Arguments rest_of(const Arguments& arguments, std::size_t from) {
  Arguments rest;
  for (std::size_t i = from; i < arguments.positional.size(); ++i) {
    rest.positional.push_back(arguments.positional[i]);
  }
  rest.named = arguments.named;
  return rest;
}

// select, reject, selectattr, rejectattr: items (or their attribute) that pass a test.
Value choose(const Value& input, const Arguments& arguments, Budget& budget, bool by_attribute,
             bool keep_passing) {
  const std::size_t test_at = by_attribute ? 1 : 0;
  const Value* test = arguments.find(test_at, "test");
  const Arguments rest = rest_of(arguments, test_at + 1);
  List kept;
  for (const Value& item : items_of(input, budget)) {
    const Value subject =
        by_attribute ? attribute_path(item, arguments.require(0, "attribute")) : item;
    const bool passes =
        test == nullptr ? subject.truthy() : apply_test(test->text(), subject, rest, budget);
    if (passes == keep_passing) kept.push_back(item);
  }
  return Value::list(std::move(kept));
}

Value map_items(const Value& input, const Arguments& arguments, Budget& budget) {
  List mapped;
  const Value* attribute = nullptr;
  const Value* fallback = nullptr;
  for (const auto& [name, value] : arguments.named) {
    if (name == "attribute") attribute = &value;
    if (name == "default") fallback = &value;
  }
  // Every argument may be another `map`, which is a recursion.
  if (arguments.positional.size() > 16) throw Failure("map takes too many arguments");
  for (const Value& item : items_of(input, budget)) {
    if (attribute != nullptr) {
      Value value = attribute_path(item, *attribute);
      mapped.push_back(value.is_undefined() && fallback != nullptr ? *fallback : value);
    } else {
      const std::string& name = arguments.require(0, "filter").text();
      mapped.push_back(apply_filter(name, item, rest_of(arguments, 1), budget));
    }
  }
  return Value::list(std::move(mapped));
}

Value join(const Value& input, const Arguments& arguments, Budget& budget) {
  const Value* separator = arguments.find(0, "d");
  const Value* attribute = arguments.find(1, "attribute");
  std::string text;
  bool first = true;
  for (const Value& item : items_of(input, budget)) {
    if (!first && separator != nullptr) text += to_text(*separator);
    first = false;
    const Value value = attribute != nullptr ? attribute_path(item, *attribute) : item;
    budget.spend(value.weight());
    text += to_text(value);
    if (text.size() > Value::kMaxText) throw Failure("a text grows too large");
  }
  return Value::string(std::move(text));
}

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
    size = input.items().size();
  } else if (!input.is_undefined()) {
    size = input.entries().size();
  }
  return Value::integer(static_cast<std::int64_t>(size));
}

Value tojson(const Value& input, const Arguments& arguments, Budget&) {
  // HF's signature: tojson(x, ensure_ascii, indent, separators, sort_keys); by name, in practice.
  const Value* indent = nullptr;
  for (const auto& [name, value] : arguments.named) {
    if (name == "indent" && !value.is_none()) indent = &value;
    if (name == "separators" || name == "sort_keys") {
      throw Failure("tojson: '" + name + "' is not supported");
    }
  }
  if (!arguments.positional.empty()) indent = &arguments.positional[0];
  const auto width = indent == nullptr ? -1 : std::clamp<std::int64_t>(indent->integer(), 0, 16);
  return Value::string(to_json(input, static_cast<int>(width)));
}

// Python's int() and float() of a text; nothing when it is no number.
template <typename T>
std::optional<T> parse_number(const std::string& raw) {
  std::string text = strip(raw, {}, Side::kBoth);
  if (text.starts_with("+")) text.erase(0, 1);
  T value{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

Value to_real(const Value& input, const Arguments& arguments, Budget&) {
  if (input.is_number()) return Value::real(input.number());
  if (input.is_string()) {
    if (const auto value = parse_number<double>(input.text())) return Value::real(*value);
  }
  const Value* fallback = arguments.find(0, "default");
  return fallback != nullptr ? *fallback : Value::real(0.0);
}

Value to_integer(const Value& input, const Arguments& arguments, Budget&) {
  std::optional<double> real;
  if (input.is_real()) real = input.number();
  if (input.is_bool() || input.is_integer()) return Value::integer(input.integer());
  if (input.is_string()) {
    if (const auto value = parse_number<std::int64_t>(input.text())) return Value::integer(*value);
    real = parse_number<double>(input.text());
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

Value round_number(const Value& input, const Arguments& arguments, Budget&) {
  const auto digits = std::clamp<std::int64_t>(integer_or(arguments, 0, "precision", 0), -20, 20);
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const Value* method = arguments.find(1, "method");
  const double scaled = input.number() * scale;
  double rounded = std::nearbyint(scaled);
  if (method != nullptr && method->text() == "ceil") rounded = std::ceil(scaled);
  if (method != nullptr && method->text() == "floor") rounded = std::floor(scaled);
  return Value::real(rounded / scale);
}

Value first(const Value& input, const Arguments&, Budget& budget) {
  const List items = items_of(input, budget);
  return items.empty() ? Value::undefined("first item") : items.front();
}

Value last(const Value& input, const Arguments&, Budget& budget) {
  const List items = items_of(input, budget);
  return items.empty() ? Value::undefined("last item") : items.back();
}

Value reverse(const Value& input, const Arguments&, Budget& budget) {
  List items = items_of(input, budget);
  std::reverse(items.begin(), items.end());
  if (!input.is_string()) return Value::list(std::move(items));
  std::string text;
  for (const Value& item : items) text += item.text();
  return Value::string(std::move(text));
}

Value entries(const Value& input, const Arguments&, Budget& budget) {
  List items;
  if (input.is_undefined()) return Value::list({});
  budget.spend(input.entries().size());
  for (const auto& [key, value] : input.entries()) {
    items.push_back(Value::list({Value::string(key), value}));
  }
  return Value::list(std::move(items));
}

// Text folds its case, as Jinja's sorting filters do by default.
Value sort_key(const Value& item, const Value* attribute, bool case_sensitive) {
  Value key = attribute != nullptr ? attribute_path(item, *attribute) : item;
  if (key.is_string() && !case_sensitive) key = Value::string(lower(key.text()));
  return key;
}

Value sort_items(const Value& input, const Arguments& arguments, Budget& budget) {
  const bool descending = truth_of(arguments, 0, "reverse");
  const bool case_sensitive = truth_of(arguments, 1, "case_sensitive");
  const Value* attribute = arguments.find(2, "attribute");
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : items_of(input, budget)) {
    keyed.emplace_back(sort_key(item, attribute, case_sensitive), item);
    budget.spend(20 * keyed.back().first.weight());
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return descending ? b.first.less_than(a.first) : a.first.less_than(b.first);
  });
  List items;
  for (auto& [key, item] : keyed) items.push_back(std::move(item));
  return Value::list(std::move(items));
}

Value unique(const Value& input, const Arguments& arguments, Budget& budget) {
  const bool case_sensitive = truth_of(arguments, 0, "case_sensitive");
  const Value* attribute = arguments.find(1, "attribute");
  List keys, kept;
  for (const Value& item : items_of(input, budget)) {
    const Value key = sort_key(item, attribute, case_sensitive);
    budget.spend(keys.size() * key.weight());
    if (std::any_of(keys.begin(), keys.end(), [&](const Value& k) { return k.equals(key); })) {
      continue;
    }
    keys.push_back(key);
    kept.push_back(item);
  }
  return Value::list(std::move(kept));
}

Value extreme(const Value& input, Budget& budget, bool largest) {
  const List items = items_of(input, budget);
  if (items.empty()) return Value::undefined("item of an empty sequence");
  budget.spend(input.weight());
  const Value* best = &items[0];
  for (const Value& item : items) {
    if (largest ? best->less_than(item) : item.less_than(*best)) best = &item;
  }
  return *best;
}

Value indent(const Value& input, const Arguments& arguments, Budget& budget) {
  const auto width = std::clamp<std::int64_t>(integer_or(arguments, 0, "width", 4), 0, 64);
  const bool first_too = truth_of(arguments, 1, "first"),
             blank_too = truth_of(arguments, 2, "blank");
  const std::string margin(static_cast<std::size_t>(width), ' ');
  std::string out;
  bool is_first = true;
  for (const Value& line : split(input.text(), "\n", -1)) {
    budget.spend(1 + margin.size() / 16);
    if (!is_first) out += '\n';
    const bool indented = is_first ? first_too : blank_too || !line.text().empty();
    if (indented) out += margin;
    is_first = false;
    out += line.text();
  }
  return Value::string(std::move(out));
}

Value escape(const Value& input, const Arguments&, Budget&) {
  std::string out;
  for (const char c : to_text(input)) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if (c == '"') {
      out += "&#34;";
    } else {
      out += c;
    }
  }
  return Value::string(std::move(out));
}

const std::unordered_map<std::string, Filter>& filters() {
  using A = const Arguments&;
  using V = const Value&;
  static const std::unordered_map<std::string, Filter> kFilters = {
      {"abs", absolute},
      {"capitalize", [](V in, A, Budget&) { return Value::string(capitalize(to_text(in))); }},
      {"count", length},
      {"d", default_of},
      {"default", default_of},
      {"e", escape},
      {"escape", escape},
      {"first", first},
      {"float", to_real},
      {"indent", indent},
      {"int", to_integer},
      {"items", entries},
      {"join", join},
      {"last", last},
      {"length", length},
      {"list", [](V in, A, Budget& b) { return Value::list(items_of(in, b)); }},
      {"lower", [](V in, A, Budget&) { return Value::string(lower(to_text(in))); }},
      {"map", map_items},
      {"max", [](V in, A, Budget& b) { return extreme(in, b, true); }},
      {"min", [](V in, A, Budget& b) { return extreme(in, b, false); }},
      {"reject", [](V in, A a, Budget& b) { return choose(in, a, b, false, false); }},
      {"rejectattr", [](V in, A a, Budget& b) { return choose(in, a, b, true, false); }},
      {"replace",
       [](V in, A a, Budget&) {
         return Value::string(replace(to_text(in), to_text(a.require(0, "old")),
                                      to_text(a.require(1, "new")), integer_or(a, 2, "count", -1)));
       }},
      {"reverse", reverse},
      {"round", round_number},
      {"safe", [](V in, A, Budget&) { return in; }},
      {"select", [](V in, A a, Budget& b) { return choose(in, a, b, false, true); }},
      {"selectattr", [](V in, A a, Budget& b) { return choose(in, a, b, true, true); }},
      {"sort", sort_items},
      {"string", [](V in, A, Budget&) { return Value::string(to_text(in)); }},
      {"title", [](V in, A, Budget&) { return Value::string(capitalize_words(to_text(in))); }},
      {"tojson", tojson},
      {"trim",
       [](V in, A a, Budget&) {
         const Value* set = a.find(0, "chars");
         const std::string chars = set == nullptr || set->is_none() ? "" : set->text();
         return Value::string(strip(to_text(in), chars, Side::kBoth));
       }},
      {"unique", unique},
      {"upper", [](V in, A, Budget&) { return Value::string(upper(to_text(in))); }},
  };
  return kFilters;
}

}  // namespace

bool is_known_filter(const std::string& name) { return filters().contains(name); }

Value apply_filter(const std::string& name, const Value& input, const Arguments& arguments,
                   Budget& budget) {
  const auto filter = filters().find(name);
  if (filter == filters().end()) throw Failure("unknown filter '" + name.substr(0, 80) + "'");
  // Filters that do not read the elements are not charged for them.
  const Filter call = filter->second;
  const bool walks =
      call != default_of && call != first && call != last && (call != length || input.is_string());
  budget.spend(walks ? input.weight() : 1);
  Value result = call(input, arguments, budget);
  budget.spend(walks ? result.weight() : 1);
  return result;
}

}  // namespace tandem::model::jinja
