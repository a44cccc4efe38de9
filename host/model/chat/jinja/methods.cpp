// SPDX-License-Identifier: Apache-2.0
//
// Methods of values (declared in filters.h). Calling one that changes its object is a Failure:
// values are immutable, as in Jinja's immutable sandbox.
#include <algorithm>
#include <cmath>

#include "model/chat/jinja/filters.h"
#include "model/chat/jinja/method_table.h"
#include "model/chat/jinja/objects.h"
#include "model/chat/jinja/python_format.h"

namespace tandem::model::jinja {
namespace {

using V = const Value&;
using A = const Arguments&;

Value get_entry(V object, A arguments, Budget&) {
  const Value& key = arguments.require(0, "key");
  const Value* found = object.find(key);
  if (found != nullptr) return *found;
  const Value* fallback = arguments.find(1, "default");
  return fallback != nullptr ? *fallback : Value::none();
}

Value values(V object, A, Budget&) {
  List items;
  for (const auto& [key, value] : object.pairs()) items.push_back(value);
  return Value::list(std::move(items), ListKind::kValues);
}

Value pairs(V object, A, Budget&) {
  List items;
  for (const auto& [key, value] : object.pairs()) {
    items.push_back(Value::tuple({key, value}));
  }
  return Value::list(std::move(items), ListKind::kItems);
}

Value keys(V object, A, Budget& budget) {
  return Value::list(items_of(object, budget), ListKind::kKeys);
}

Value unchanged(V object, A, Budget&) { return object; }

Value refused(V, A, Budget&) { throw Failure("a template may not change a list or mapping"); }

const Methods& map_methods() {
  static const Methods kMethods = {
      {"clear", refused},  {"copy", unchanged}, {"get", get_entry},   {"items", pairs},
      {"keys", keys},      {"pop", refused},    {"popitem", refused}, {"setdefault", refused},
      {"update", refused}, {"values", values},
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
  static const Methods kMethods = {{"append", refused},    {"clear", refused},  {"copy", unchanged},
                                   {"count", count_items}, {"extend", refused}, {"index", index_of},
                                   {"insert", refused},    {"pop", refused},    {"remove", refused},
                                   {"reverse", refused},   {"sort", refused}};
  return kMethods;
}

const Methods& tuple_methods() {
  static const Methods kMethods = {{"count", count_items}, {"index", index_of}};
  return kMethods;
}

const Methods& number_methods() {
  static const Methods kMethods = {{"is_integer", [](V o, A, Budget&) {
                                      return Value::boolean(!o.is_real() ||
                                                            o.number() == std::floor(o.number()));
                                    }}};
  return kMethods;
}

// Those of the value's type in Python; null: none.
const Methods* methods_of(const Value& object) {
  if (object.is_string()) return &string_methods();
  if (object.is_map()) return &map_methods();
  if (object.is_integer() || object.is_real()) return &number_methods();
  if (!object.is_indexable()) return nullptr;
  return object.list_kind() == ListKind::kList ? &list_methods() : &tuple_methods();
}

// What the methods of markup give is markup, and what they take in is escaped.
Value call_of_markup(Method method, V object, const std::string& name, A arguments,
                     Budget& budget) {
  Arguments given = arguments;
  if (name == "replace" || name == "join" || name == "format" || name == "format_map") {
    const std::size_t first = name == "replace" ? 1 : 0;  // what is replaced stays as it is
    for (std::size_t i = first; i < given.positional.size(); ++i) {
      given.positional[i] = with_escaped_texts(given.positional[i]);
    }
    for (auto& [key, value] : given.named) value = with_escaped_texts(value);
  }
  Value result = method(object, given, budget);
  if (result.is_string()) return Value::markup(result.text());
  if (!result.is_list()) return result;
  List parts;
  for (const Value& part : result.items()) parts.push_back(Value::markup(part.text()));
  return Value::list(std::move(parts), result.list_kind());
}

}  // namespace

bool has_method(const Value& object, const std::string& name) {
  if (object.is_object()) return object_has_method(object.object(), name);
  const Methods* methods = methods_of(object);
  return methods != nullptr && methods->contains(name);
}

Value call_method(const Value& object, const std::string& name, const Arguments& arguments,
                  Budget& budget) {
  if (object.is_object()) return call_object_method(object.object(), name, arguments, budget);
  budget.spend(object.weight());
  if (object.is_string() && !arguments.positional.empty() && arguments.positional[0].is_string()) {
    budget.spend_search(object.text().size(), arguments.positional[0].text().size());
  }
  const Method method = methods_of(object)->at(name);
  Value result = object.is_markup() ? call_of_markup(method, object, name, arguments, budget)
                                    : method(object, arguments, budget);
  budget.spend(result.weight());
  return result;
}

}  // namespace tandem::model::jinja
