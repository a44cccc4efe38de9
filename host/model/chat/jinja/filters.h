// SPDX-License-Identifier: Apache-2.0
//
// Filters, tests and methods of the template language, with Jinja's and Python's meaning.
//
// Before a call works on data, it charges the size of that data to the Budget. `length` or
// `is defined` of a long conversation costs almost nothing. An unknown name or a wrong argument is
// a Failure that names it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/chat/jinja/value.h"

namespace tandem::model::jinja {

// The remaining steps of a rendering. Failure if none is left.
class Budget {
 public:
  explicit Budget(std::uint64_t steps) : left_(steps) {}
  void spend(std::uint64_t steps) {
    if (steps > left_) throw Failure("rendering takes too many steps");
    left_ -= steps;
  }
  // In the worst case a search compares the texts at every position.
  void spend_search(std::size_t text_bytes, std::size_t wanted_bytes) {
    spend(text_bytes * wanted_bytes / 1024);
  }

 private:
  std::uint64_t left_;
};

struct Arguments {
  List positional;
  Entries named;

  // The argument at `index`, or of that name; null when it was not given.
  const Value* find(std::size_t index, const char* name) const;
  const Value* named_value(std::string_view name) const;
  // As find(); Failure when it was not given.
  const Value& require(std::size_t index, const char* name) const;
};

// `value` as text with &, <, >, ' and " as entities; markup as it is.
std::string escaped(const Value& value);

bool is_known_filter(const std::string& name);
bool is_known_test(const std::string& name);

Value apply_filter(const std::string& name, const Value& input, const Arguments& arguments,
                   Budget& budget);
bool apply_test(const std::string& name, const Value& input, const Arguments& arguments,
                Budget& budget);

// Whether Python's type of `object` has a method of this name; calling it may still be an error.
bool has_method(const Value& object, const std::string& name);
// Failure for methods that templates may not call, such as append() of a list.
Value call_method(const Value& object, const std::string& name, const Arguments& arguments,
                  Budget& budget);

// object.name: a method, otherwise an entry. object[key]: an entry, otherwise a method. Both are
// undefined if there is neither; Failure if `object` is undefined.
Value attribute_of(const Value& object, const std::string& name);
Value item_of(const Value& object, const Value& key);

// object[start:stop:step] of a string or list; a bound of none has its default. Undefined if the
// object has no slices or a bound is not a number.
Value slice_of(const Value& object, const Value& start, const Value& stop, const Value& step);

// What a loop over the value visits: the items of a list, the characters of a string, the keys of a
// map, nothing for undefined.
List items_of(const Value& value, Budget& budget);

// pairs[key] = value. Failure if the key is mutable.
void put_pair(Pairs& pairs, const Value& key, const Value& value);

bool contains(const Value& container, const Value& item, Budget& budget);

}  // namespace tandem::model::jinja
