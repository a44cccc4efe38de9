// SPDX-License-Identifier: Apache-2.0
//
// Value: the value of a template expression, with Python's meaning of truth, equality and order.
//
// Strings, lists and maps are immutable and shared: copies are cheap, and nothing can contain
// itself. Objects (a namespace, a loop) are mutable and shared; the evaluator empties the
// namespaces when it ends, since they may contain themselves. Lists and maps know their depth and
// their weight (the size of everything inside; shared parts count each time). Both are limited, so
// that a hostile template stops before the work is done. Errors: Failure, which the evaluator turns
// into an Error with the line.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tandem::model::jinja {

struct Statement;
struct Scope;
struct Object;
struct Function;
class Value;
using List = std::vector<Value>;
using Entries = std::vector<std::pair<std::string, Value>>;  // named values
using Pairs = std::vector<std::pair<Value, Value>>;          // of a map

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The Python type of a sequence. It decides how the sequence prints, compares and converts.
enum class ListKind { kList, kTuple, kGroup, kRange, kItems, kKeys, kValues, kGenerator };

class Value {
 public:
  static constexpr int kMaxDepth = 64;
  static constexpr std::uint64_t kMaxWeight = 4'000'000;
  static constexpr std::size_t kMaxText = std::size_t{16} << 20;

  Value() = default;  // undefined, without a name
  static Value undefined(std::string name);
  static Value none();
  static Value boolean(bool value);
  static Value integer(std::int64_t value);
  static Value real(double value);
  static Value string(std::string text);
  static Value list(List items, ListKind kind = ListKind::kList);
  static Value tuple(List items) { return list(std::move(items), ListKind::kTuple); }
  static Value map(Entries entries);
  static Value map_of(Pairs pairs);       // keys: texts, numbers, none, tuples; each once
  static Value markup(std::string text);  // a string that joins others only escaped
  static Value of(std::shared_ptr<Object> object);
  static Value of(Function function);

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(data_); }
  bool is_real() const { return std::holds_alternative<double>(data_); }
  bool is_number() const { return is_bool() || is_integer() || is_real(); }
  bool is_markup() const { return is_string() && is_markup_; }
  bool is_string() const { return std::holds_alternative<Text>(data_); }
  bool is_list() const { return std::holds_alternative<Shared<List>>(data_); }
  bool is_map() const { return std::holds_alternative<Shared<Pairs>>(data_); }
  bool is_object() const { return std::holds_alternative<std::shared_ptr<Object>>(data_); }
  bool is_function() const {
    return std::holds_alternative<std::shared_ptr<const Function>>(data_);
  }
  bool is_iterable() const { return is_undefined() || is_string() || is_list() || is_map(); }

  // Failure naming both types when the value is of another kind.
  const std::string& text() const;
  const List& items() const;
  ListKind list_kind() const;    // of a list
  bool is_indexable() const;     // a list that takes [index]: no view, no generator
  const Pairs& pairs() const;    // of a map
  Entries entries() const;       // of a map whose keys are all texts
  std::int64_t integer() const;  // of an integer or bool
  double number() const;
  Object& object() const { return *std::get<std::shared_ptr<Object>>(data_); }
  const Function& function() const { return *std::get<std::shared_ptr<const Function>>(data_); }

  // Returns the entry of a map. Null if the map has no such entry, or the value is not a map.
  const Value* find(const std::string& key) const;
  const Value* find(const Value& key) const;

  bool truthy() const;
  const char* type_name() const;
  std::string undefined_message() const;
  int depth() const;
  std::uint64_t weight() const;  // at least 1; the cost of visiting all of it

  bool equals(const Value& other) const;
  bool less_than(const Value& other) const;  // numbers, strings, lists; else Failure

 private:
  struct Undefined {
    std::string name;
  };
  struct None {};
  template <typename T>
  struct Node {
    T content;
    int depth;
    std::uint64_t weight;
    ListKind kind = ListKind::kList;
  };
  using Text = std::shared_ptr<const std::string>;
  template <typename T>
  using Shared = std::shared_ptr<const Node<T>>;

  std::variant<Undefined, None, bool, std::int64_t, double, Text, Shared<List>, Shared<Pairs>,
               std::shared_ptr<Object>, std::shared_ptr<const Function>>
      data_;
  bool is_markup_ = false;
};

// A mutable object with an identity. For a loop, `items` and `at` are those of the current
// iteration.
struct Object {
  enum class Kind { kNamespace, kLoop, kCycler, kJoiner };
  Kind kind = Kind::kNamespace;
  Entries entries;        // of a namespace
  List items;             // of a loop or a cycler
  std::size_t at = 0;     // index in items; of a joiner: number of calls
  std::size_t depth = 0;  // of a recursive loop
  List changed;           // the last arguments of loop.changed()
  bool was_asked = false;
  Value separator;                  // of a joiner
  const Statement* loop = nullptr;  // recursive
  Scope* scope = nullptr;           // around it
};

enum class Builtin {
  kRaiseException,
  kStrftimeNow,
  kRange,
  kNamespace,
  kDict,
  kCycler,
  kJoiner,
  kMacro,   // `macro`, defined in `scope`
  kMethod,  // `name` of `self`
};

struct Function {
  Builtin builtin = Builtin::kRange;
  const Statement* macro = nullptr;
  Scope* scope = nullptr;
  Value self = {};
  std::string name = {};
};

}  // namespace tandem::model::jinja
