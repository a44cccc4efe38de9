// SPDX-License-Identifier: Apache-2.0
//
// Methods of strings, lists and maps (declared in filters.h). Methods that change their object are
// absent: values are immutable, as in Jinja's immutable sandbox.
#include <algorithm>
#include <unordered_map>

#include "model/chat/jinja/filters.h"
#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

using Method = Value (*)(const Value& object, const Arguments& arguments, Budget& budget);
using Methods = std::unordered_map<std::string, Method>;
using V = const Value&;
using A = const Arguments&;

Value stripped(V object, A arguments, Side side) {
  const Value* set = arguments.find(0, "chars");
  const std::string chars = set == nullptr || set->is_none() ? "" : set->text();
  if (set != nullptr && set->is_string() && chars.empty()) return object;
  return Value::string(strip(object.text(), chars, side));
}

// startswith and endswith take one text or several.
Value has_affix(V object, A arguments, bool at_start) {
  const Value& wanted = arguments.require(0, "prefix");
  const auto fits = [&](const Value& affix) {
    return at_start ? object.text().starts_with(affix.text())
                    : object.text().ends_with(affix.text());
  };
  if (wanted.is_list()) {
    return Value::boolean(std::any_of(wanted.items().begin(), wanted.items().end(), fits));
  }
  return Value::boolean(fits(wanted));
}

Value split_text(V object, A arguments, Budget&) {
  const Value* separator = arguments.find(0, "sep");
  const Value* limit = arguments.find(1, "maxsplit");
  const std::int64_t max_splits = limit == nullptr ? -1 : limit->integer();
  if (separator == nullptr || separator->is_none()) {
    return Value::list(split(object.text(), max_splits));
  }
  return Value::list(split(object.text(), separator->text(), max_splits));
}

Value find_text(V object, A arguments, Budget&) {
  const std::size_t found = object.text().find(arguments.require(0, "sub").text());
  if (found == std::string::npos) return Value::integer(-1);
  return Value::integer(
      static_cast<std::int64_t>(num_characters(std::string_view(object.text()).substr(0, found))));
}

Value count_text(V object, A arguments, Budget&) {
  const std::string& wanted = arguments.require(0, "sub").text();
  if (wanted.empty()) {
    return Value::integer(static_cast<std::int64_t>(num_characters(object.text())) + 1);
  }
  std::int64_t count = 0;
  for (std::size_t at = object.text().find(wanted); at != std::string::npos;
       at = object.text().find(wanted, at + wanted.size())) {
    ++count;
  }
  return Value::integer(count);
}

Value replace_text(V object, A arguments, Budget&) {
  const Value* limit = arguments.find(2, "count");
  return Value::string(replace(object.text(), arguments.require(0, "old").text(),
                               arguments.require(1, "new").text(),
                               limit == nullptr ? -1 : limit->integer()));
}

Value without_affix(V object, A arguments, bool at_start) {
  const std::string& text = object.text();
  const std::string& affix = arguments.require(0, "prefix").text();
  if (at_start ? !text.starts_with(affix) : !text.ends_with(affix)) return object;
  return Value::string(at_start ? text.substr(affix.size())
                                : text.substr(0, text.size() - affix.size()));
}

Value is_digits(V object, A, Budget&) {
  const std::string& text = object.text();
  return Value::boolean(!text.empty() && text.find_first_not_of("0123456789") == std::string::npos);
}

Value join_items(V object, A arguments, Budget& budget) {
  Arguments separator;
  separator.positional.push_back(object);
  const Value& items = arguments.require(0, "iterable");
  for (const Value& item : items_of(items, budget)) item.text();  // Failure unless all are texts
  return apply_filter("join", items, separator, budget);
}

const Methods& string_methods() {
  static const Methods kMethods = {
      {"capitalize", [](V o, A, Budget&) { return Value::string(capitalize(o.text())); }},
      {"count", count_text},
      {"endswith", [](V o, A a, Budget&) { return has_affix(o, a, false); }},
      {"find", find_text},
      {"isdigit", is_digits},
      {"join", join_items},
      {"lower", [](V o, A, Budget&) { return Value::string(lower(o.text())); }},
      {"lstrip", [](V o, A a, Budget&) { return stripped(o, a, Side::kLeft); }},
      {"removeprefix", [](V o, A a, Budget&) { return without_affix(o, a, true); }},
      {"removesuffix", [](V o, A a, Budget&) { return without_affix(o, a, false); }},
      {"replace", replace_text},
      {"rstrip", [](V o, A a, Budget&) { return stripped(o, a, Side::kRight); }},
      {"split", split_text},
      {"splitlines", [](V o, A, Budget&) { return Value::list(split_lines(o.text())); }},
      {"startswith", [](V o, A a, Budget&) { return has_affix(o, a, true); }},
      {"strip", [](V o, A a, Budget&) { return stripped(o, a, Side::kBoth); }},
      {"title", [](V o, A, Budget&) { return Value::string(title(o.text())); }},
      {"upper", [](V o, A, Budget&) { return Value::string(upper(o.text())); }},
  };
  return kMethods;
}

Value get_entry(V object, A arguments, Budget&) {
  const Value* found = object.find(arguments.require(0, "key").text());
  if (found != nullptr) return *found;
  const Value* fallback = arguments.find(1, "default");
  return fallback != nullptr ? *fallback : Value::none();
}

Value values(V object, A, Budget&) {
  List items;
  for (const auto& [key, value] : object.entries()) items.push_back(value);
  return Value::list(std::move(items));
}

const Methods& map_methods() {
  static const Methods kMethods = {
      {"get", get_entry},
      {"items", [](V o, A a, Budget& b) { return apply_filter("items", o, a, b); }},
      {"keys", [](V o, A, Budget& b) { return Value::list(items_of(o, b)); }},
      {"values", values},
  };
  return kMethods;
}

Value index_of(V object, A arguments, Budget&) {
  const List& items = object.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].equals(arguments.require(0, "value"))) {
      return Value::integer(static_cast<std::int64_t>(i));
    }
  }
  throw Failure("index: the list does not hold this value");
}

Value count_items(V object, A arguments, Budget&) {
  const Value& wanted = arguments.require(0, "value");
  return Value::integer(std::count_if(object.items().begin(), object.items().end(),
                                      [&](const Value& item) { return item.equals(wanted); }));
}

const Methods& list_methods() {
  static const Methods kMethods = {{"count", count_items}, {"index", index_of}};
  return kMethods;
}

}  // namespace

std::optional<Value> call_method(const Value& object, const std::string& name,
                                 const Arguments& arguments, Budget& budget) {
  const Methods* methods = nullptr;
  if (object.is_string()) methods = &string_methods();
  if (object.is_list()) methods = &list_methods();
  if (object.is_map()) methods = &map_methods();
  if (methods == nullptr) return std::nullopt;
  const auto method = methods->find(name);
  if (method == methods->end()) return std::nullopt;
  budget.spend(object.weight());
  Value result = method->second(object, arguments, budget);
  budget.spend(result.weight());
  return result;
}

}  // namespace tandem::model::jinja
