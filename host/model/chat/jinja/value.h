// SPDX-License-Identifier: Apache-2.0
//
// Value: the value of a template expression, with Python's meaning of truth, equality and order.
//
// Strings, lists and maps are immutable and shared: copies are cheap, and nothing can contain
// itself. A namespace is mutable; the evaluator owns it and a Value points to it. Lists and maps
// know their depth and their weight (the size of everything inside; shared parts count each time).
// Both are limited, so that a hostile template stops before the work is done.
// Errors: Failure, which the evaluator turns into an Error with the line.
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
class Value;
using List = std::vector<Value>;
using Entries = std::vector<std::pair<std::string, Value>>;

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Namespace {
  Entries entries;
};

enum class Builtin { kRaiseException, kStrftimeNow, kRange, kNamespace, kDict };

struct Function {
  const Statement* macro = nullptr;  // null: a builtin
  Builtin builtin = Builtin::kRange;
  bool operator==(const Function&) const = default;
};

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
  static Value list(List items);
  static Value map(Entries entries);
  static Value of(Namespace* space);
  static Value of(Function function);

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(data_); }
  bool is_real() const { return std::holds_alternative<double>(data_); }
  bool is_number() const { return is_bool() || is_integer() || is_real(); }
  bool is_string() const { return std::holds_alternative<Text>(data_); }
  bool is_list() const { return std::holds_alternative<Shared<List>>(data_); }
  bool is_map() const { return std::holds_alternative<Shared<Entries>>(data_); }
  bool is_namespace() const { return std::holds_alternative<Namespace*>(data_); }
  bool is_function() const { return std::holds_alternative<Function>(data_); }
  bool is_iterable() const { return is_undefined() || is_string() || is_list() || is_map(); }

  // Failure naming both types when the value is of another kind.
  const std::string& text() const;
  const List& items() const;
  const Entries& entries() const;  // of a map or a namespace
  std::int64_t integer() const;    // of an integer or bool
  double number() const;
  Namespace* space() const { return std::get<Namespace*>(data_); }
  const Function& function() const { return std::get<Function>(data_); }

  // The entry of a map or namespace, null where it has none or the value is neither.
  const Value* find(const std::string& key) const;

  bool truthy() const;
  const char* type_name() const;
  std::string undefined_message() const;
  int depth() const;
  std::uint64_t weight() const;  // at least 1; what walking all of it costs

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
  };
  using Text = std::shared_ptr<const std::string>;
  template <typename T>
  using Shared = std::shared_ptr<const Node<T>>;

  std::variant<Undefined, None, bool, std::int64_t, double, Text, Shared<List>, Shared<Entries>,
               Namespace*, Function>
      data_;
};

}  // namespace tandem::model::jinja
