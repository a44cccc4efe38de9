// SPDX-License-Identifier: Apache-2.0
//
// Filters over sequences and mappings (declared in filter_table.h).
#include <algorithm>
#include <utility>

#include "model/chat/jinja/evaluator.h"
#include "model/chat/jinja/filter_table.h"
#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

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
  if (!input.truthy()) return Value::list({}, ListKind::kGenerator);
  for (const Value& item : items_of(input, budget)) {
    const Value subject =
        by_attribute ? attribute_path(item, arguments.require(0, "attribute")) : item;
    const bool passes =
        test == nullptr ? subject.truthy() : apply_test(test->text(), subject, rest, budget);
    if (passes == keep_passing) kept.push_back(item);
  }
  return Value::list(std::move(kept), ListKind::kGenerator);
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
  if (!input.truthy()) return Value::list({}, ListKind::kGenerator);
  for (const Value& item : items_of(input, budget)) {
    if (attribute != nullptr) {
      Value value = attribute_path(item, *attribute);
      mapped.push_back(value.is_undefined() && fallback != nullptr ? *fallback : value);
    } else {
      const std::string& name = arguments.require(0, "filter").text();
      mapped.push_back(apply_filter(name, item, rest_of(arguments, 1), budget));
    }
  }
  return Value::list(std::move(mapped), ListKind::kGenerator);
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

Value first(const Value& input, const Arguments&, Budget& budget) {
  const List items = items_of(input, budget);
  return items.empty() ? Value::undefined("first item") : items.front();
}

Value last(const Value& input, const Arguments&, Budget& budget) {
  if (input.is_list() && input.list_kind() == ListKind::kGenerator) {
    throw Failure("last: a generator has no end; make it a list first");
  }
  const List items = items_of(input, budget);
  return items.empty() ? Value::undefined("last item") : items.back();
}

Value reverse(const Value& input, const Arguments&, Budget& budget) {
  List items = items_of(input, budget);
  std::reverse(items.begin(), items.end());
  if (!input.is_string()) return Value::list(std::move(items), ListKind::kGenerator);
  std::string text;
  for (const Value& item : items) text += item.text();
  return Value::string(std::move(text));
}

Value entries(const Value& input, const Arguments&, Budget& budget) {
  List items;
  if (input.is_undefined()) return Value::list({}, ListKind::kGenerator);
  budget.spend(input.pairs().size());
  for (const auto& [key, value] : input.pairs()) {
    items.push_back(Value::tuple({key, value}));
  }
  return Value::list(std::move(items), ListKind::kGenerator);
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
  return Value::list(std::move(kept), ListKind::kGenerator);
}

Value extreme(const Value& input, const Arguments& arguments, Budget& budget, bool largest) {
  const bool case_sensitive = truth_of(arguments, 0, "case_sensitive");
  const Value* attribute = arguments.find(1, "attribute");
  const List items = items_of(input, budget);
  if (items.empty()) return Value::undefined("item of an empty sequence");
  budget.spend(input.weight());
  const Value* best = &items[0];
  Value best_key = sort_key(*best, attribute, case_sensitive);
  for (const Value& item : items) {
    Value key = sort_key(item, attribute, case_sensitive);
    if (largest ? !best_key.less_than(key) : !key.less_than(best_key)) continue;
    best = &item;
    best_key = std::move(key);
  }
  return *best;
}

Value dictsort(const Value& input, const Arguments& arguments, Budget& budget) {
  const Value* by = arguments.find(1, "by");
  const std::string part = by != nullptr ? by->text() : "key";
  if (part != "key" && part != "value") throw Failure("dictsort sorts by 'key' or 'value'");
  List pairs;
  for (const auto& [key, value] : input.pairs()) {
    pairs.push_back(Value::tuple({key, value}));
  }
  Arguments sorting;
  sorting.named = {{"case_sensitive", Value::boolean(truth_of(arguments, 0, "case_sensitive"))},
                   {"attribute", Value::integer(part == "key" ? 0 : 1)},
                   {"reverse", Value::boolean(truth_of(arguments, 2, "reverse"))}};
  return sort_items(Value::list(std::move(pairs)), sorting, budget);
}

// The groups are sorted by the attribute; texts that differ in case alone are one group.
Value groupby(const Value& input, const Arguments& arguments, Budget& budget) {
  const Value& path = arguments.require(0, "attribute");
  const Value* fallback = arguments.find(1, "default");
  const bool case_sensitive = truth_of(arguments, 2, "case_sensitive");
  struct Keyed {
    Value sorting, shown, item;
  };
  std::vector<Keyed> keyed;
  for (const Value& item : items_of(input, budget)) {
    Value shown = attribute_path(item, path);
    if (shown.is_undefined() && fallback != nullptr) shown = *fallback;
    const bool folds = shown.is_string() && !case_sensitive;
    keyed.push_back({folds ? Value::string(lower(shown.text())) : shown, shown, item});
    budget.spend(20 * shown.weight());
  }
  std::ranges::stable_sort(
      keyed, [](const Keyed& a, const Keyed& b) { return a.sorting.less_than(b.sorting); });
  List groups;
  for (std::size_t begin = 0; begin < keyed.size();) {
    List members;
    std::size_t end = begin;
    for (; end < keyed.size() && keyed[end].sorting.equals(keyed[begin].sorting); ++end) {
      members.push_back(keyed[end].item);
    }
    groups.push_back(
        Value::list({keyed[begin].shown, Value::list(std::move(members))}, ListKind::kGroup));
    begin = end;
  }
  return Value::list(std::move(groups));
}

Value sum(const Value& input, const Arguments& arguments, Budget& budget) {
  const Value* attribute = arguments.find(0, "attribute");
  const Value* start = arguments.find(1, "start");
  Value total = start != nullptr ? *start : Value::integer(0);
  if (total.is_string()) throw Failure("sum cannot add texts; use join");
  for (const Value& item : items_of(input, budget)) {
    const bool whole = attribute == nullptr || attribute->is_none();
    total = arithmetic("+", total, whole ? item : attribute_path(item, *attribute));
    budget.spend(total.weight());
  }
  return total;
}

// Rows of `size` items; the last is filled up when there is something to fill with.
Value batch(const Value& input, const Arguments& arguments, Budget& budget) {
  const std::int64_t size = arguments.require(0, "linecount").integer();
  const Value* fill = arguments.find(1, "fill_with");
  const bool fills = fill != nullptr && !fill->is_none();
  if (fills && size > 100'000) throw Failure("batch: the rows are too long");
  List rows, row;
  for (const Value& item : items_of(input, budget)) {
    if (static_cast<std::int64_t>(row.size()) == size) {
      rows.push_back(Value::list(std::exchange(row, {})));
    }
    row.push_back(item);
  }
  if (!row.empty()) {
    while (fills && static_cast<std::int64_t>(row.size()) < size) row.push_back(*fill);
    rows.push_back(Value::list(std::move(row)));
  }
  return Value::list(std::move(rows), ListKind::kGenerator);
}

// `count` columns of about the same length, the longer ones first.
Value columns(const Value& input, const Arguments& arguments, Budget& budget) {
  const std::int64_t count = arguments.require(0, "slices").integer();
  const Value* fill = arguments.find(1, "fill_with");
  if (count < 1 || count > 100'000) throw Failure("slice: the number of slices is out of range");
  const List items = items_of(input, budget);
  budget.spend(static_cast<std::uint64_t>(count));
  const auto total = static_cast<std::int64_t>(items.size());
  List all;
  std::int64_t at = 0;
  for (std::int64_t column = 0; column < count; ++column) {
    const std::int64_t size = total / count + (column < total % count ? 1 : 0);
    List part(items.begin() + at, items.begin() + at + size);
    at += size;
    if (fill != nullptr && !fill->is_none() && column >= total % count) part.push_back(*fill);
    all.push_back(Value::list(std::move(part)));
  }
  return Value::list(std::move(all), ListKind::kGenerator);
}

}  // namespace

const Filters& list_filters() {
  using A = const Arguments&;
  using V = const Value&;
  static const Filters kFilters = {
      {"batch", batch},
      {"dictsort", dictsort},
      {"first", first},
      {"groupby", groupby},
      {"items", entries},
      {"join", join},
      {"last", last},
      {"list", [](V in, A, Budget& b) { return Value::list(items_of(in, b)); }},
      {"map", map_items},
      {"max", [](V in, A a, Budget& b) { return extreme(in, a, b, true); }},
      {"min", [](V in, A a, Budget& b) { return extreme(in, a, b, false); }},
      {"reject", [](V in, A a, Budget& b) { return choose(in, a, b, false, false); }},
      {"rejectattr", [](V in, A a, Budget& b) { return choose(in, a, b, true, false); }},
      {"reverse", reverse},
      {"select", [](V in, A a, Budget& b) { return choose(in, a, b, false, true); }},
      {"selectattr", [](V in, A a, Budget& b) { return choose(in, a, b, true, true); }},
      {"slice", columns},
      {"sort", sort_items},
      {"sum", sum},
      {"unique", unique},
  };
  return kFilters;
}

}  // namespace tandem::model::jinja
