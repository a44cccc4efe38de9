// SPDX-License-Identifier: Apache-2.0
//
// Tests: the names after `is` (declared in filters.h).
#include <unordered_map>

#include "model/chat/jinja/filters.h"
#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

using Test = bool (*)(const Value& input, const Arguments& arguments, Budget& budget);
using V = const Value&;
using A = const Arguments&;

const Value& other(A arguments) { return arguments.require(0, "other"); }

bool equal(V in, A a, Budget&) { return in.equals(other(a)); }
bool unequal(V in, A a, Budget&) { return !in.equals(other(a)); }
bool less(V in, A a, Budget&) { return in.less_than(other(a)); }
bool greater(V in, A a, Budget&) { return other(a).less_than(in); }
bool at_most(V in, A a, Budget&) { return !other(a).less_than(in); }
bool at_least(V in, A a, Budget&) { return !in.less_than(other(a)); }

bool divisible_by(V in, A a, Budget&) {
  const std::int64_t divisor = a.require(0, "num").integer();
  if (divisor == 0) throw Failure("division by zero");
  return divisor == -1 || in.integer() % divisor == 0;
}

// Identity: of plain values, equality without conversion.
bool same_as(V in, A a, Budget&) {
  const Value& value = other(a);
  if (in.is_bool() != value.is_bool() || in.is_real() != value.is_real()) return false;
  return in.equals(value);
}

bool is_callable(V in, A, Budget&) {
  if (!in.is_object()) return in.is_function();
  const Object::Kind kind = in.object().kind;
  return kind == Object::Kind::kLoop || kind == Object::Kind::kJoiner;
}

const std::unordered_map<std::string, Test>& tests() {
  static const std::unordered_map<std::string, Test> kTests = {
      {"==", equal},
      {"eq", equal},
      {"equalto", equal},
      {"!=", unequal},
      {"ne", unequal},
      {"<", less},
      {"lt", less},
      {"lessthan", less},
      {">", greater},
      {"gt", greater},
      {"greaterthan", greater},
      {"<=", at_most},
      {"le", at_most},
      {">=", at_least},
      {"ge", at_least},
      {"boolean", [](V in, A, Budget&) { return in.is_bool(); }},
      {"callable", is_callable},
      {"defined", [](V in, A, Budget&) { return !in.is_undefined(); }},
      {"divisibleby", divisible_by},
      {"even", [](V in, A, Budget&) { return in.integer() % 2 == 0; }},
      {"false", [](V in, A, Budget&) { return in.is_bool() && !in.truthy(); }},
      {"filter", [](V in, A, Budget&) { return is_known_filter(in.text()); }},
      {"float", [](V in, A, Budget&) { return in.is_real(); }},
      {"in", [](V in, A a, Budget& b) { return contains(a.require(0, "seq"), in, b); }},
      {"integer", [](V in, A, Budget&) { return in.is_integer(); }},
      {"iterable", [](V in, A, Budget&) { return in.is_iterable(); }},
      {"lower", [](V in, A, Budget&) { return lower(to_text(in)) == to_text(in); }},
      {"mapping", [](V in, A, Budget&) { return in.is_map(); }},
      {"none", [](V in, A, Budget&) { return in.is_none(); }},
      {"number", [](V in, A, Budget&) { return in.is_number(); }},
      {"odd", [](V in, A, Budget&) { return in.integer() % 2 != 0; }},
      {"sameas", same_as},
      {"escaped", [](V, A, Budget&) { return false; }},
      {"sequence",
       [](V in, A, Budget&) {
         return in.is_indexable() || in.is_string() || in.is_map() || in.is_undefined();
       }},
      {"string", [](V in, A, Budget&) { return in.is_string(); }},
      {"test", [](V in, A, Budget&) { return is_known_test(in.text()); }},
      {"true", [](V in, A, Budget&) { return in.is_bool() && in.truthy(); }},
      {"undefined", [](V in, A, Budget&) { return in.is_undefined(); }},
      {"upper", [](V in, A, Budget&) { return upper(to_text(in)) == to_text(in); }},
  };
  return kTests;
}

}  // namespace

bool is_known_test(const std::string& name) { return tests().contains(name); }

bool apply_test(const std::string& name, const Value& input, const Arguments& arguments,
                Budget& budget) {
  const auto test = tests().find(name);
  if (test == tests().end()) throw Failure("unknown test '" + name.substr(0, 80) + "'");
  const bool only_looks =
      arguments.positional.empty() && arguments.named.empty() && name != "lower" && name != "upper";
  budget.spend(only_looks ? 1 : input.weight());
  return test->second(input, arguments, budget);
}

}  // namespace tandem::model::jinja
